import { tenantOfScope, type ExecScope } from '@secbox/contracts';
import { sql, type RawBuilder } from 'kysely';

/** What the rows of a scope are compared with. Without `own`, all of the tenant are seen. */
export interface Seen {
  readonly tenant: string;
  readonly own?: string | null;
  readonly users?: readonly string[];
  readonly agents?: readonly string[];
}

export function seenOf(scope: ExecScope): Seen {
  const tenant = tenantOfScope(scope);
  if (typeof scope === 'string') return { tenant };
  const { actor: own, userPatterns, agentPatterns } = scope;
  return {
    tenant,
    own,
    ...(userPatterns && { users: userPatterns.map(globOf) }),
    ...(agentPatterns && { agents: agentPatterns.map(globOf) }),
  };
}

/**
 * Of the tenant's rows those that a limited key sees: it asked for them, or they are of a user and agent that it may act
 * for. A row without a user fits no pattern. Nothing to be compared where all are seen.
 */
export function whereSeen({ own, users, agents }: Seen): RawBuilder<boolean>[] {
  if (own === undefined) return [];
  const fits = (column: 'user_id' | 'agent_id', patterns: readonly string[]) =>
    sql`(${sql.join(
      patterns.map((pattern) => sql`${sql.ref(`sandbox_execs.${column}`)} glob ${pattern}`),
      sql` or `,
    )})`;
  const subject = [...(users ? [fits('user_id', users)] : []), ...(agents ? [fits('agent_id', agents)] : [])];
  // The plus sign keeps SQLite from looking for these rows by the key's index.
  return [sql<boolean>`(+sandbox_execs.actor = ${own} or (${sql.join(subject, sql` and `)}))`];
}

/** In our patterns `*` alone is special. */
function globOf(pattern: string): string {
  return pattern.replaceAll(/[?[]/g, '[$&]');
}
