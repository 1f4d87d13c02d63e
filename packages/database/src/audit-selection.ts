import { isFinal, type ExecFilter } from '@secbox/contracts';
import { sql, type ExpressionBuilder, type Kysely, type RawBuilder, type SelectQueryBuilder } from 'kysely';
import { phraseOf } from './command-index.js';
import { firstSeq } from './seq.js';
import type { Tables } from './tables.js';

/** The columns that can be filtered by, from the one with the fewest rows for a value to the one with the most. */
const filterColumns = ['task_id', 'conversation_id', 'project_id', 'skill_id', 'actor', 'status'] as const;
type FilterColumn = (typeof filterColumns)[number];
/** Those of the index that holds all that is counted. */
const countedColumns: readonly FilterColumn[] = ['skill_id', 'actor', 'status'];

export interface ExecOrder {
  readonly order: 'asc' | 'desc';
  /** Only what comes after this row. */
  readonly after?: number | undefined;
}

type Selection = SelectQueryBuilder<Tables, 'sandbox_execs', object>;

/** The execs of a tenant that a filter means, in the order of their creation. */
export function selectExecs(
  db: Kysely<Tables>,
  tenant: string,
  filter: ExecFilter,
  order: ExecOrder,
): Selection {
  const leading = leadingColumns(filter);
  const seq = seqOf(leading);
  return select(db, tenant, filter, leading)
    .where((where) => where.and(within(seq, boundsOf(filter, order))))
    .orderBy(seq, order.order);
}

/** The same execs for counting, in no order. */
export function selectCounted(db: Kysely<Tables>, tenant: string, filter: ExecFilter): Selection {
  const given = givenColumns(filter);
  const inIndex = filter.q === undefined && given.every((column) => countedColumns.includes(column));
  const leading = inIndex ? [] : leadingColumns(filter);
  return select(db, tenant, filter, leading).where((where) =>
    where.and(within(seqOf(leading), boundsOf(filter))),
  );
}

type Leading = readonly FilterColumn[] | 'text';

/**
 * Which index the rows are found by. The planner cannot know: without statistics all look alike, and with
 * them a plan would change under our feet.
 */
function leadingColumns(filter: ExecFilter): Leading {
  const given = givenColumns(filter);
  const [first] = given;
  const few = first === 'task_id' || first === 'conversation_id';
  if (filter.q !== undefined && !few) return 'text';
  if (first === undefined) return [];
  // There are never many that are not over.
  if (!few && filter.status !== undefined && !isFinal(filter.status)) return ['status'];
  return first === 'project_id' && given.includes('status') ? ['project_id', 'status'] : [first];
}

function givenColumns(filter: ExecFilter): FilterColumn[] {
  return filterColumns.filter((column) => filter[column] !== undefined);
}

function select(db: Kysely<Tables>, tenant: string, filter: ExecFilter, leading: Leading): Selection {
  const leads = (column: FilterColumn) => leading !== 'text' && leading.includes(column);
  return from(db, filter.q, leading).where((where) =>
    where.and([
      leading === 'text' ? notIndexed(where, 'tenant', tenant) : where('sandbox_execs.tenant', '=', tenant),
      ...givenColumns(filter).map((column) => {
        const value = filter[column] ?? '';
        return leads(column)
          ? where(`sandbox_execs.${column}`, '=', value)
          : notIndexed(where, column, value);
      }),
    ]),
  );
}

/** SQLite keeps to the order of a cross join, so that the first of the two leads. */
function from(db: Kysely<Tables>, text: string | undefined, leading: Leading): Selection {
  if (text === undefined) return db.selectFrom('sandbox_execs');
  const joined =
    leading === 'text'
      ? db.selectFrom('sandbox_exec_commands').crossJoin('sandbox_execs')
      : db.selectFrom('sandbox_execs').crossJoin('sandbox_exec_commands');
  return joined
    .where(sql<boolean>`sandbox_exec_commands match ${phraseOf(text)}`)
    .whereRef('sandbox_execs.seq', '=', 'sandbox_exec_commands.rowid');
}

/** A plus sign makes no difference to the value, but SQLite then leaves the column's index alone. */
function notIndexed(
  where: ExpressionBuilder<Tables, 'sandbox_execs'>,
  column: FilterColumn | 'tenant',
  value: string,
) {
  return where(sql<string>`+${sql.ref(`sandbox_execs.${column}`)}`, '=', value);
}

/** With a text it is the index of commands that leads, and has the order. */
function seqOf(leading: Leading): RawBuilder<number> {
  return leading === 'text' ? sql<number>`sandbox_exec_commands.rowid` : sql<number>`sandbox_execs.seq`;
}

interface Bounds {
  readonly least?: number;
  readonly below?: number;
}

/** One bound at each end: of two, SQLite would seek by the first and try every row by the second. */
function boundsOf({ since, until }: ExecFilter, { order, after }: ExecOrder = { order: 'asc' }): Bounds {
  const least = [
    ...(since === undefined ? [] : [firstSeq(Date.parse(since))]),
    ...(after === undefined || order === 'desc' ? [] : [after + 1]),
  ];
  const below = [
    ...(until === undefined ? [] : [firstSeq(Date.parse(until))]),
    ...(after === undefined || order === 'asc' ? [] : [after]),
  ];
  return {
    ...(least.length === 0 ? {} : { least: Math.max(...least) }),
    ...(below.length === 0 ? {} : { below: Math.min(...below) }),
  };
}

function within(seq: RawBuilder<number>, { least, below }: Bounds): RawBuilder<boolean>[] {
  return [
    ...(least === undefined ? [] : [sql<boolean>`${seq} >= ${least}`]),
    ...(below === undefined ? [] : [sql<boolean>`${seq} < ${below}`]),
  ];
}
