import { sql, type CompiledQuery, type Kysely } from 'kysely';
import { selectExecs, type Compared, type ExecSelection } from './audit-selection.js';
import { lineOf, type LineForm } from './export-line.js';
import type { Tables } from './tables.js';

const mostKept = 100;

/** A statement, and which value each of its parameters is. */
interface Made {
  readonly query: CompiledQuery;
  readonly slots: readonly Slot[];
}

type SlotName = keyof Compared | 'limit';

/** Stands for a value while a statement is made. */
class Slot {
  readonly name: SlotName;
  /** Of a value that is a list. */
  readonly index: number | undefined;

  constructor(name: SlotName, index?: number) {
    this.name = name;
    this.index = index;
  }

  in(values: Compared, limit: number): unknown {
    if (this.name === 'limit') return limit;
    const value = values[this.name];
    return Array.isArray(value) && this.index !== undefined ? value[this.index] : value;
  }
}

/**
 * Lists and exports of execs as SQL. Putting one together takes about as long as answering it, and those that
 * compare the same columns differ in their values only: each is made once.
 */
export class ListStatements {
  readonly #db: Kysely<Tables>;
  readonly #made = new Map<string, Made>();

  constructor(db: Kysely<Tables>) {
    this.#db = db;
  }

  of(form: LineForm, selection: ExecSelection, limit: number): CompiledQuery {
    const { leading, order, values } = selection;
    const key = [form, order, leading, ...Object.entries(values).map(shapeOf)].join(' ');
    const { query, slots } = this.#made.get(key) ?? this.#keep(key, this.#make(form, selection));
    return { ...query, parameters: slots.map((slot) => slot.in(values, limit)) };
  }

  /** There are thousands of sets of columns, of which few are asked for. */
  #keep(key: string, made: Made): Made {
    if (this.#made.size >= mostKept) this.#made.clear();
    this.#made.set(key, made);
    return made;
  }

  #make(form: LineForm, { leading, order, values }: ExecSelection): Made {
    const entries = Object.entries(values) as [keyof Compared, unknown][];
    const blank = Object.fromEntries(
      entries.map(([name, value]) => [
        name,
        Array.isArray(value) ? value.map((_, index) => new Slot(name, index)) : new Slot(name),
      ]),
    ) as unknown as Compared;
    const query = selectExecs(this.#db, { leading, order, values: blank })
      .select(['sandbox_execs.seq', lineOf(form).as('line')])
      .limit(sql<number>`${new Slot('limit')}`)
      .compile();
    const slots = query.parameters.map((parameter) => {
      if (!(parameter instanceof Slot)) throw new Error(`A list compares with ${String(parameter)}.`);
      return parameter;
    });
    return { query, slots };
  }
}

/** What of a value is in the SQL: that it is there, and of a list how long it is. */
function shapeOf([name, value]: [string, unknown]): string {
  return Array.isArray(value) ? `${name}:${value.length}` : name;
}
