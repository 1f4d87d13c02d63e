export const execStatuses = [
  'queued',
  'awaiting_approval',
  'running',
  'succeeded',
  'failed',
  'timed_out',
  'oom_killed',
  'cancelled',
  'rejected',
  'error',
] as const;

export type ExecStatus = (typeof execStatuses)[number];

const unfinished = ['queued', 'awaiting_approval', 'running'] as const;

export type FinalExecStatus = Exclude<ExecStatus, (typeof unfinished)[number]>;

export function isFinal(status: ExecStatus): status is FinalExecStatus {
  return !(unfinished as readonly ExecStatus[]).includes(status);
}

/** Where a row may go from each status: forward only, and from a final one nowhere. */
export const nextStatuses: Readonly<Record<ExecStatus, readonly ExecStatus[]>> = {
  awaiting_approval: ['queued', 'cancelled', 'rejected', 'error'],
  queued: ['running', 'cancelled', 'rejected', 'error'],
  running: ['succeeded', 'failed', 'timed_out', 'oom_killed', 'cancelled', 'rejected', 'error'],
  succeeded: [],
  failed: [],
  timed_out: [],
  oom_killed: [],
  cancelled: [],
  rejected: [],
  error: [],
};

/** The statuses that a row can come to `next` from. */
export function statusesBefore(next: ExecStatus): ExecStatus[] {
  return execStatuses.filter((status) => nextStatuses[status].includes(next));
}
