import { CompiledQuery, type Kysely, type SqliteDatabase } from 'kysely';
import { isDeepStrictEqual } from 'node:util';
import type { Tables } from './tables.js';

/** One statement of a transaction. */
export interface Step {
  readonly query: CompiledQuery;
  /** How many rows it must reach: if it does not, nothing of its transaction happens. */
  readonly reaches?: number;
}

/** Writes statements that are known beforehand, as one transaction. */
export interface Writer {
  /** False when a statement did not reach the rows that it must; nothing was written then. */
  write(steps: readonly Step[]): Promise<boolean>;
}

/** Without a way back to the caller between two statements, which together cost more than the statements. */
export class SqliteWriter implements Writer {
  readonly #db: Kysely<Tables>;
  readonly #sqlite: SqliteDatabase;

  /** Both are one connection. */
  constructor(db: Kysely<Tables>, sqlite: SqliteDatabase) {
    this.#db = db;
    this.#sqlite = sqlite;
  }

  async write(steps: readonly Step[]): Promise<boolean> {
    // In turn with the transactions that others keep open over several calls.
    return this.#db.connection().execute(() => Promise.resolve(this.#writeAll(steps)));
  }

  #writeAll(steps: readonly Step[]): boolean {
    this.#run('begin');
    try {
      for (const { query, reaches } of steps) {
        const changes = this.#run(query.sql, query.parameters);
        if (reaches !== undefined && changes !== reaches) {
          this.#run('rollback');
          return false;
        }
      }
      this.#run('commit');
      return true;
    } catch (error) {
      this.#undo();
      throw error;
    }
  }

  #run(sql: string, parameters: readonly unknown[] = []): number {
    return Number(this.#sqlite.prepare(sql).run(parameters).changes);
  }

  #undo(): void {
    try {
      this.#run('rollback');
    } catch {
      // It was undone by the failure itself, or has never begun: that failure is what there is to tell.
    }
  }
}

const knownShapes = 64;

/** Puts statements for rows of the same columns into SQL once: kysely takes longer for it than SQLite to write them. */
export class KnownStatements<Row> {
  readonly #compile: (row: Row) => CompiledQuery;
  readonly #parametersOf: (row: Row) => readonly unknown[];
  readonly #known = new Map<string, string>();

  /** `parametersOf` gives what the compiled statement has, in its order; that is checked where it is compiled. */
  constructor(compile: (row: Row) => CompiledQuery, parametersOf: (row: Row) => readonly unknown[]) {
    this.#compile = compile;
    this.#parametersOf = parametersOf;
  }

  /** `shape` is the same for rows whose statement is the same but for its parameters. */
  of(row: Row, shape: string): CompiledQuery {
    const known = this.#known.get(shape);
    const parameters = this.#parametersOf(row);
    if (known !== undefined) return CompiledQuery.raw(known, [...parameters]);
    const compiled = this.#compile(row);
    if (!isDeepStrictEqual(compiled.parameters, parameters))
      throw new Error(`The parameters of a known statement are not those of: ${compiled.sql}`);
    if (this.#known.size < knownShapes) this.#known.set(shape, compiled.sql);
    return compiled;
  }
}
