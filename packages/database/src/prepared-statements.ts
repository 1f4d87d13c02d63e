import type Sqlite from 'better-sqlite3';
import type { SqliteDatabase } from 'kysely';

const kept = 100;

/** Compiles each statement once: kysely asks for it anew with every call. */
export function withPreparedStatements(sqlite: Sqlite.Database): SqliteDatabase {
  const statements = new Map<string, Sqlite.Statement>();
  return {
    prepare(sql) {
      const statement = statements.get(sql) ?? sqlite.prepare(sql);
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
