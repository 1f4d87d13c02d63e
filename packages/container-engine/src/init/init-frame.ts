import type { AheadState, FaultName, StartKind, StartStep } from './protocol.js';

/** What init tells. A data frame may arrive as several of these, in order and complete. */
export type InitFrame =
  | { readonly type: 'ready'; readonly version: number; readonly startsAhead: boolean }
  | { readonly type: 'ahead'; readonly state: AheadState }
  | { readonly type: 'started'; readonly pid: number; readonly start: StartKind }
  | { readonly type: 'failed'; readonly step: StartStep; readonly errno: number }
  | { readonly type: 'stdout' | 'stderr'; readonly data: Buffer }
  | { readonly type: 'stdin_credit'; readonly bytes: number }
  | { readonly type: 'stdin_closed' }
  | { readonly type: 'exit'; readonly exit: InitExit }
  | { readonly type: 'fault'; readonly fault: FaultName };

export interface InitExit {
  readonly end:
    | { readonly kind: 'exited'; readonly code: number }
    | { readonly kind: 'signaled'; readonly signal: number };
  /** Nothing but init was left in the container. False only when somebody entered it from outside. */
  readonly alone: boolean;
  /** Processes that the OOM killer ended; undefined where the cgroup does not tell. */
  readonly oomKills: number | undefined;
  readonly wallMicros: number;
  /** Of every process of the container; undefined where the cgroup does not tell. */
  readonly cpuMicros: number | undefined;
  /** Of the whole container since its start, page cache included; undefined where the cgroup does not tell. */
  readonly peakBytes: number | undefined;
  /** Of the largest single process. */
  readonly maxRssBytes: number;
}
