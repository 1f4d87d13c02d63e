/** How many execs, and how long they took; null where none has ended after running. */
export interface ExecFigures {
  readonly execs: number;
  readonly duration_ms: {
    readonly min: number | null;
    readonly p50: number | null;
    readonly p95: number | null;
    readonly max: number | null;
    readonly mean: number | null;
  };
}

export interface ExecGroup extends ExecFigures {
  /** The day (UTC), status, skill or actor; null for execs without one. */
  readonly key: string | null;
}

/** What `GET /sandbox/execs/stats` answers. Days are newest first, other groups largest first. */
export interface ExecStats {
  readonly total: ExecFigures;
  readonly by_status: readonly ExecGroup[];
  readonly by_day: readonly ExecGroup[];
  readonly by_skill: readonly ExecGroup[];
  readonly by_actor: readonly ExecGroup[];
  /** There are more groups than these. */
  readonly truncated: boolean;
}
