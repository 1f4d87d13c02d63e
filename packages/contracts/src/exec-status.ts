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
