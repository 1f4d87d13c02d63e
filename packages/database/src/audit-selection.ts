import { isFinal, type ExecFilter, type ExecScope } from '@secbox/contracts';
import { sql, type ExpressionBuilder, type Kysely, type RawBuilder, type SelectQueryBuilder } from 'kysely';
import { phraseOf } from './command-index.js';
import { placeOf, seqInPlace, withinPlace } from './command-places.js';
import { seenOf, whereSeen, type Seen } from './seen-execs.js';
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

interface Bounds {
  readonly least?: number;
  readonly below?: number;
}

/** What rows are compared with. Which of these there are decides the SQL; what they are does not. */
export interface Compared extends Bounds, Seen, Readonly<Partial<Record<FilterColumn, string>>> {
  readonly phrase?: string;
}

/** Execs of a scope, in the order of their creation. */
export interface ExecSelection {
  readonly leading: Leading;
  readonly order: 'asc' | 'desc';
  readonly values: Compared;
}

/** The execs that a filter means. */
export function selectionOf(scope: ExecScope, filter: ExecFilter, order: ExecOrder): ExecSelection {
  return {
    leading: leadingColumns(filter, typeof scope !== 'string'),
    order: order.order,
    values: comparedOf(scope, filter, boundsOf(filter, order)),
  };
}

export function selectExecs(db: Kysely<Tables>, { leading, order, values }: ExecSelection): Selection {
  return select(db, values, leading)
    .where((where) => where.and(within(leading, values)))
    .orderBy(seqOf(leading), order);
}

/** The same execs for counting, in no order. */
export function selectCounted(db: Kysely<Tables>, scope: ExecScope, filter: ExecFilter): Selection {
  const leading = isCounted(filter) ? [] : leadingColumns(filter);
  const values = comparedOf(scope, filter, boundsOf(filter));
  return select(db, values, leading).where((where) => where.and(within(leading, values)));
}

function comparedOf(scope: ExecScope, filter: ExecFilter, bounds: Bounds): Compared {
  return {
    ...seenOf(scope),
    ...Object.fromEntries(givenColumns(filter).map((column) => [column, filter[column]])),
    ...(filter.q === undefined ? {} : { phrase: phraseOf(filter.q) }),
    ...bounds,
  };
}

type Leading = readonly FilterColumn[] | 'text';

/**
 * Which index the rows are found by. The planner cannot know: without statistics all look alike, and with
 * them a plan would change under our feet.
 */
function leadingColumns(filter: ExecFilter, limited = false): Leading {
  const given = givenColumns(filter);
  const [first] = given;
  const few = first === 'task_id' || first === 'conversation_id';
  // There are never many that are not over.
  if (!few && filter.status !== undefined && !isFinal(filter.status)) return ['status'];
  if (filter.q !== undefined && !few) return 'text';
  if (first === undefined) return [];
  // A limited key may see few of many: whose they are is in the index of what is counted, and the others are not read.
  if (limited && isCounted(filter)) return [];
  return first === 'project_id' && given.includes('status') ? ['project_id', 'status'] : [first];
}

function isCounted(filter: ExecFilter): boolean {
  return filter.q === undefined && givenColumns(filter).every((column) => countedColumns.includes(column));
}

function givenColumns(filter: Readonly<Partial<Record<FilterColumn, unknown>>>): FilterColumn[] {
  return filterColumns.filter((column) => filter[column] !== undefined);
}

function select(db: Kysely<Tables>, values: Compared, leading: Leading): Selection {
  const leads = (column: FilterColumn) => leading !== 'text' && leading.includes(column);
  return from(db, values, leading).where((where) =>
    where.and([
      leading === 'text'
        ? notIndexed(where, 'tenant', values.tenant)
        : where('sandbox_execs.tenant', '=', values.tenant),
      ...givenColumns(values).map((column) => {
        const value = values[column] ?? '';
        return leads(column)
          ? where(`sandbox_execs.${column}`, '=', value)
          : notIndexed(where, column, value);
      }),
      ...whereSeen(values),
    ]),
  );
}

/** SQLite keeps to the order of a cross join, so that the first of the two leads. */
function from(db: Kysely<Tables>, { tenant, phrase }: Compared, leading: Leading): Selection {
  if (phrase === undefined) return db.selectFrom('sandbox_execs');
  const match = sql<boolean>`sandbox_exec_commands match ${phrase}`;
  if (leading === 'text') {
    return db
      .selectFrom('sandbox_exec_commands')
      .crossJoin('sandbox_execs')
      .where(match)
      .where('sandbox_execs.seq', '=', seqInPlace);
  }
  return db
    .selectFrom('sandbox_execs')
    .crossJoin('sandbox_exec_commands')
    .where(match)
    .where('sandbox_exec_commands.rowid', '=', sql<number>`${placeOf(tenant)} + sandbox_execs.seq`);
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

function within(leading: Leading, { tenant, least, below }: Compared): RawBuilder<boolean>[] {
  if (leading === 'text') return withinPlace(tenant, { least, below });
  const seq = seqOf(leading);
  return [
    ...(least === undefined ? [] : [sql<boolean>`${seq} >= ${least}`]),
    ...(below === undefined ? [] : [sql<boolean>`${seq} < ${below}`]),
  ];
}
