import type { ExecFigures, ExecStats } from '@secbox/contracts';
import { sql, type RawBuilder } from 'kysely';
import type { selectCounted } from './audit-selection.js';

export interface FiguresRow {
  readonly execs: number;
  readonly min: number | null;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly max: number | null;
  readonly mean: number | null;
}

export interface GroupRow extends FiguresRow {
  readonly key: string | null;
}

type Execs = ReturnType<typeof selectCounted>;

/** More groups than a report can show. */
const maxGroups = 1000;

/** The plus signs keep SQLite to the index that holds all these, instead of one in the groups' order. */
const keys: Readonly<Record<'status' | 'day' | 'skill_id' | 'actor', RawBuilder<string | null>>> = {
  status: sql<string | null>`+sandbox_execs.status`,
  day: sql<string | null>`date(sandbox_execs.seq / 1000000, 'unixepoch')`,
  skill_id: sql<string | null>`+sandbox_execs.skill_id`,
  actor: sql<string | null>`+sandbox_execs.actor`,
};

export function selectFigures(execs: Execs) {
  return execs.select([
    sql<number>`count(*)`.as('execs'),
    sql<number | null>`min(duration_ms)`.as('min'),
    sql<number | null>`percentile_disc(duration_ms, 0.5)`.as('p50'),
    sql<number | null>`percentile_disc(duration_ms, 0.95)`.as('p95'),
    sql<number | null>`max(duration_ms)`.as('max'),
    sql<number | null>`avg(duration_ms)`.as('mean'),
  ]);
}

export function selectGroups(execs: Execs, by: keyof typeof keys) {
  const key = keys[by];
  return selectFigures(execs)
    .select(key.as('key'))
    .groupBy(key)
    .orderBy(by === 'day' ? key : sql`count(*)`, 'desc')
    .orderBy(key)
    .limit(maxGroups + 1);
}

type Groups = Readonly<Record<Exclude<keyof ExecStats, 'total' | 'truncated'>, readonly GroupRow[]>>;

export function statsOf(total: FiguresRow | undefined, groups: Groups): ExecStats {
  const shown = (rows: readonly GroupRow[]) =>
    rows.slice(0, maxGroups).map(({ key, ...row }) => ({ key, ...figuresOf(row) }));
  return {
    total: figuresOf(total ?? { execs: 0, min: null, p50: null, p95: null, max: null, mean: null }),
    by_status: shown(groups.by_status),
    by_day: shown(groups.by_day),
    by_skill: shown(groups.by_skill),
    by_actor: shown(groups.by_actor),
    truncated: Object.values(groups).some((rows) => rows.length > maxGroups),
  };
}

function figuresOf({ execs, min, p50, p95, max, mean }: FiguresRow): ExecFigures {
  return { execs, duration_ms: { min, p50, p95, max, mean: mean === null ? null : Math.round(mean) } };
}
