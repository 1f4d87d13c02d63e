import type { ExecScope } from '@secbox/contracts';
import { sql, type RawBuilder } from 'kysely';
import { seenOf, whereSeen } from './seen-execs.js';

export interface ProjectRow {
  readonly project_id: string;
  readonly execs: number;
  /** Null when the project was removed and has had no exec since, or none that is seen. */
  readonly last_used_at: string | null;
  /** Null when no call changed its files. */
  readonly changed_at: string | null;
}

/**
 * The next projects by their ids. Each step seeks the next id in the index of projects, so that a page costs
 * the same however many execs there are; counting reads that index only.
 */
export function selectProjects(scope: ExecScope, after: string, limit: number): RawBuilder<ProjectRow> {
  const seen = seenOf(scope);
  const { tenant } = seen;
  const isSeen = sql.join(
    whereSeen(seen).map((condition) => sql` and ${condition}`),
    sql``,
  );
  const next = (than: RawBuilder<unknown>) =>
    sql`(select min(project_id) from sandbox_execs where tenant = ${tenant} and project_id > ${than})`;
  return sql<ProjectRow>`
    with recursive ids(project_id, n) as (
      select ${next(sql`${after}`)}, 1
      union all
      select ${next(sql`ids.project_id`)}, n + 1 from ids where ids.project_id is not null and n < ${limit}
    ),
    begun as (
      select ids.project_id, coalesce((
        select max(through_seq) from project_removals
        where tenant = ${tenant} and project_id = ids.project_id and scope = 'project'
      ), -1) as seq
      from ids where ids.project_id is not null
    )
    select begun.project_id,
      (select count(*) from sandbox_execs
        where tenant = ${tenant} and project_id = begun.project_id and seq > begun.seq${isSeen}) as execs,
      (select coalesce(ended_at, created_at) from sandbox_execs
        where tenant = ${tenant} and project_id = begun.project_id and seq > begun.seq${isSeen}
        order by seq desc limit 1) as last_used_at,
      (select changed_at from project_changes
        where tenant = ${tenant} and project_id = begun.project_id) as changed_at
    from begun
    order by begun.project_id`;
}
