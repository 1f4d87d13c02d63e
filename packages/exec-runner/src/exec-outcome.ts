import type { FinalExecStatus, FinishedExec } from '@secbox/contracts';
import type { OutputSummary } from './output-file.js';
import type { RunResult } from './run-container.js';

/** Why a running exec was ended by us; the reason of its abort signal. */
export class StopReason extends Error {
  constructor(
    readonly status: Extract<FinalExecStatus, 'cancelled' | 'error'>,
    reason: string,
  ) {
    super(reason);
  }
}

export interface RunFacts {
  readonly result: RunResult;
  readonly stopped: StopReason | undefined;
  readonly output: Readonly<Record<'stdout' | 'stderr', OutputSummary>>;
  readonly artifactsTruncated: boolean;
  readonly startedAt: Date;
  readonly endedAt: Date;
}

export function outcomeOf(facts: RunFacts): FinishedExec {
  const { result, stopped, output } = facts;
  const status = statusOf(result, stopped);
  return {
    status,
    exit_code: result.exitCode,
    signal: signalOf(result.exitCode),
    oom: result.outOfMemory,
    error_reason: stopped?.message ?? null,
    ended_at: facts.endedAt.toISOString(),
    duration_ms: facts.endedAt.getTime() - facts.startedAt.getTime(),
    stdout_truncated: output.stdout.truncated,
    stderr_truncated: output.stderr.truncated,
    artifacts_truncated: facts.artifactsTruncated,
  };
}

function statusOf(result: RunResult, stopped: StopReason | undefined): FinalExecStatus {
  if (result.exitCode === 0) return 'succeeded';
  if (result.timedOut) return 'timed_out';
  if (stopped) return stopped.status;
  return result.outOfMemory ? 'oom_killed' : 'failed';
}

/** A row for an exec that never got as far as a result. */
export function withoutResult(
  status: Extract<FinalExecStatus, 'rejected' | 'error' | 'cancelled'>,
  reason: string,
  endedAt: Date,
): FinishedExec {
  return {
    status,
    exit_code: null,
    signal: null,
    oom: false,
    error_reason: reason,
    ended_at: endedAt.toISOString(),
    duration_ms: null,
    stdout_truncated: false,
    stderr_truncated: false,
    artifacts_truncated: false,
  };
}

const signals: Readonly<Record<number, string>> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  3: 'SIGQUIT',
  4: 'SIGILL',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  13: 'SIGPIPE',
  14: 'SIGALRM',
  15: 'SIGTERM',
  24: 'SIGXCPU',
  25: 'SIGXFSZ',
  31: 'SIGSYS',
};

/** Engines and shells tell a death by signal n as 128 + n. */
function signalOf(exitCode: number): string | null {
  return signals[exitCode - 128] ?? null;
}
