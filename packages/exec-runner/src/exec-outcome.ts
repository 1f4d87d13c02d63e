import {
  neverRan,
  noEvidence,
  type EndedExec,
  type FinalExecStatus,
  type FinishedExec,
} from '@secbox/contracts';
import type { OutputSummary } from './output-file.js';
import type { RunResult } from './run-container.js';

/** Why a running exec was ended by us; the reason of its abort signal. */
export class StopReason extends Error {
  constructor(
    readonly status: Extract<FinalExecStatus, 'cancelled' | 'error' | 'failed'>,
    reason: string,
  ) {
    super(reason);
  }
}

/** The server stops before an exec has started: the next one goes on with it. */
export class HandedOver extends Error {}

/** The row of an exec could not be written, so that it must not run. */
export class Unrecorded extends Error {}

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
    signal: signalName(result.signal),
    oom: result.outOfMemory,
    // A stop that came when it had ended already did not end it.
    error_reason: status === stopped?.status && !result.engineLost ? stopped.message : result.failure,
    ended_at: facts.endedAt.toISOString(),
    duration_ms: facts.endedAt.getTime() - facts.startedAt.getTime(),
    stdout_truncated: output.stdout.truncated,
    stderr_truncated: output.stderr.truncated,
    artifacts_truncated: facts.artifactsTruncated,
    cpu_ms: result.cpuMs,
    peak_memory_bytes: result.peakMemoryBytes,
    output_error: null,
    effects: null,
  };
}

function statusOf(result: RunResult, stopped: StopReason | undefined): FinalExecStatus {
  if (result.engineLost) return 'error';
  if (result.exitCode === 0 && result.endedEarly !== true) return 'succeeded';
  if (result.timedOut) return 'timed_out';
  if (stopped) return stopped.status;
  return result.outOfMemory ? 'oom_killed' : 'failed';
}

/** A row for an exec that never got as far as a result. */
export function withoutResult(
  status: Extract<FinalExecStatus, 'rejected' | 'error' | 'cancelled' | 'failed'>,
  reason: string,
  endedAt: Date,
): EndedExec {
  return { ...neverRan(status, reason, endedAt), evidence: noEvidence };
}

/** Linux's names, on whatever system this runs; real-time signals have numbers only. */
const signals = [
  'HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT',
  'CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS',
].flatMap((names) => names.split(' '));

function signalName(signal: number | null): string | null {
  if (signal === null) return null;
  const name = signals[signal - 1];
  return name === undefined ? `SIG${signal}` : `SIG${name}`;
}
