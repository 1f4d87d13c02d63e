import { sql, type RawBuilder } from 'kysely';

const seqsPerMs = 1000;

/** Rows from this moment on have this number or a higher one. */
export function firstSeq(ms: number): number {
  return ms * seqsPerMs;
}

/** The numbers that rows of this moment's millisecond may have. */
export function seqRange(createdAt: string): { readonly first: number; readonly last: number } {
  const first = firstSeq(Date.parse(createdAt));
  return { first, last: first + seqsPerMs - 1 };
}

/** The first number of a row's millisecond that is free, found by the statement that takes it. */
export function nextSeq(
  createdAt: string,
  table: 'sandbox_execs' | 'api_keys' | 'security_events' | 'approvals' = 'sandbox_execs',
): RawBuilder<number> {
  const { first, last } = seqRange(createdAt);
  return sql<number>`(select coalesce(max(seq) + 1, ${first}) from ${sql.raw(table)} where seq between ${first} and ${last})`;
}
