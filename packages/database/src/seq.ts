import { sql, type RawBuilder } from 'kysely';

const seqsPerMs = 1000;

/** Rows from this moment on have this number or a higher one. */
export function firstSeq(ms: number): number {
  return ms * seqsPerMs;
}

/** The first number of a row's millisecond that is free, found by the statement that takes it. */
export function nextSeq(createdAt: string): RawBuilder<number> {
  const first = firstSeq(Date.parse(createdAt));
  const last = first + seqsPerMs - 1;
  return sql<number>`(select coalesce(max(seq) + 1, ${first}) from sandbox_execs where seq between ${first} and ${last})`;
}
