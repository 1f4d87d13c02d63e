import { describe, expect, test } from '@jest/globals';
import { outcomeOf, StopReason, type RunFacts } from './exec-outcome.js';
import type { RunResult } from './run-container.js';

const untouched = { size: 0, sha256: '', truncated: false };

function outcome(result: Partial<RunResult>, stopped?: StopReason) {
  const facts: RunFacts = {
    result: {
      exitCode: 0,
      signal: null,
      outOfMemory: false,
      timedOut: false,
      failure: null,
      engineLost: false,
      cpuMs: 5,
      peakMemoryBytes: 7,
      ...result,
    },
    stopped,
    output: { stdout: untouched, stderr: { ...untouched, truncated: true } },
    artifactsTruncated: false,
    startedAt: new Date(1000),
    endedAt: new Date(1250),
  };
  return outcomeOf(facts);
}

describe('the status', () => {
  test.each<[string, Partial<RunResult>, StopReason | undefined]>([
    ['succeeded', {}, undefined],
    ['failed', { exitCode: 1 }, undefined],
    ['timed_out', { exitCode: 137, signal: 9, timedOut: true }, undefined],
    ['oom_killed', { exitCode: 137, signal: 9, outOfMemory: true }, undefined],
    ['cancelled', { exitCode: 137, signal: 9 }, new StopReason('cancelled', 'asked')],
    ['error', { exitCode: 137, signal: 9 }, new StopReason('error', 'interrupted')],
    // It ended well just before it was to be ended.
    ['succeeded', { timedOut: true }, undefined],
    ['succeeded', {}, new StopReason('cancelled', 'asked')],
    // It was asked to end, and did so nicely.
    ['timed_out', { timedOut: true, endedEarly: true }, undefined],
    ['cancelled', { endedEarly: true }, new StopReason('cancelled', 'asked')],
    // Out of memory because it was killed for its time is still its time.
    ['timed_out', { exitCode: 137, timedOut: true, outOfMemory: true }, undefined],
    ['failed', { exitCode: null, failure: 'no such folder' }, undefined],
  ])('%s: %j', (status, result, stopped) => {
    expect(outcome(result, stopped).status).toBe(status);
  });

  test('out of memory with exit 0 is a success that says so', () => {
    expect(outcome({ outOfMemory: true })).toMatchObject({ status: 'succeeded', oom: true });
  });
});

test('a stop that came too late is not the reason', () => {
  expect(outcome({}, new StopReason('cancelled', 'asked')).error_reason).toBeNull();
  expect(outcome({ exitCode: 137 }, new StopReason('cancelled', 'asked')).error_reason).toBe('asked');
});

test('signals have their Linux names', () => {
  expect(outcome({ exitCode: 139, signal: 11 }).signal).toBe('SIGSEGV');
  expect(outcome({ exitCode: 159, signal: 31 }).signal).toBe('SIGSYS');
  expect(outcome({ exitCode: 162, signal: 34 }).signal).toBe('SIG34');
  expect(outcome({ exitCode: 139 }).signal).toBeNull();
});

test('times, figures and flags are carried over', () => {
  expect(outcome({})).toMatchObject({
    duration_ms: 250,
    ended_at: new Date(1250).toISOString(),
    cpu_ms: 5,
    peak_memory_bytes: 7,
    stdout_truncated: false,
    stderr_truncated: true,
  });
});
