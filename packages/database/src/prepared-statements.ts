import type Sqlite from 'better-sqlite3';
import { SecboxError } from '@secbox/contracts';
import type { SqliteDatabase, SqliteStatement } from 'kysely';
import { FileGone } from './in-place.js';

const kept = 100;

/**
 * Compiles each statement once: kysely asks for it anew with every call. Nothing is written where it would be lost
 * (`inPlace` throws then: a look at the file, once a transaction), and trouble of the database is told as what it is.
 */
export function withPreparedStatements(
  sqlite: Sqlite.Database,
  inPlace: () => void = () => undefined,
): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>();
  const prepare = (sql: string): SqliteStatement => {
    const statement = told(() => sqlite.prepare(sql));
    const writes = sql === 'begin' || !statement.readonly;
    const check = () => {
      if (writes && !sqlite.inTransaction) inPlace();
    };
    return {
      reader: statement.reader,
      all: (parameters) =>
        told(() => {
          check();
          return statement.all(parameters);
        }),
      run: (parameters) =>
        told(() => {
          check();
          return statement.run(parameters);
        }),
      iterate: (parameters) => statement.iterate(parameters),
    };
  };
  return {
    prepare(sql) {
      const statement = statements.get(sql) ?? prepare(sql);
      // Last used, last to go.
      statements.delete(sql);
      statements.set(sql, statement);
      const [oldest] = statements.keys();
      if (statements.size > kept && oldest !== undefined) statements.delete(oldest);
      return statement;
    },
    close: () => void sqlite.close(),
  };
}

/** What is the disk's, the file's or another process's doing, not that of the statement. */
const troubles = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB|PROTOCOL)/;

function told<T>(use: () => T): T {
  try {
    return use();
  } catch (error) {
    throw isTrouble(error) ? unavailable(error) : error;
  }
}

/** By its code, as the driver's class is another one each time that the driver is loaded. */
function isTrouble(error: unknown): error is Error {
  return error instanceof FileGone || troubles.test(String((error as { code?: unknown } | null)?.code));
}

function unavailable(cause: Error): SecboxError {
  const message = `The database cannot be used at this moment: ${cause.message}.`;
  return new SecboxError('database_unavailable', message, { cause });
}
