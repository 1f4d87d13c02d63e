import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import Sqlite from 'better-sqlite3';
import { CompiledQuery, Kysely, sql, SqliteDialect } from 'kysely';
import { withPreparedStatements } from './prepared-statements.js';
import type { Tables } from './tables.js';
import { KnownStatements, SqliteWriter } from './writer.js';

let db: Kysely<Tables>;
let sqlite: Sqlite.Database;
let writer: SqliteWriter;

beforeEach(() => {
  sqlite = new Sqlite(':memory:');
  sqlite.exec('create table t (n integer primary key)');
  const prepared = withPreparedStatements(sqlite);
  db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: prepared }) });
  writer = new SqliteWriter(db, prepared);
});

afterEach(() => db.destroy());

const insert = (n: number) => ({ query: CompiledQuery.raw('insert into t values (?)', [n]) });
const numbers = () => sqlite.prepare('select n from t order by n').pluck().all();

describe('statements of one transaction', () => {
  test('are all written', async () => {
    expect(await writer.write([insert(1), insert(2)])).toBe(true);
    expect(numbers()).toEqual([1, 2]);
  });

  test('are all undone when one does not reach its rows', async () => {
    const missed = { query: CompiledQuery.raw('update t set n = 9 where n = 7'), reaches: 1 };
    expect(await writer.write([insert(1), missed])).toBe(false);
    expect(await writer.write([insert(2), { ...insert(3), reaches: 1 }])).toBe(true);
    expect(numbers()).toEqual([2, 3]);
  });

  test('are all undone when one fails, and the next are not concerned', async () => {
    await expect(writer.write([insert(1), insert(1)])).rejects.toMatchObject({
      code: 'SQLITE_CONSTRAINT_PRIMARYKEY',
    });
    expect(await writer.write([insert(2)])).toBe(true);
    expect(numbers()).toEqual([2]);
  });

  test('wait for a transaction that somebody has open, and are no part of it', async () => {
    let goOn = (): void => undefined;
    const held = new Promise<void>((resolve) => (goOn = resolve));
    const other = db.transaction().execute(async (transaction) => {
      await sql`insert into t values (1)`.execute(transaction);
      await held;
      throw new Error('given up');
    });
    const written = writer.write([insert(2)]);
    goOn();
    await expect(other).rejects.toThrow('given up');
    expect(await written).toBe(true);
    expect(numbers()).toEqual([2]);
  });
});

describe('a known statement', () => {
  const compiled: unknown[] = [];
  const of = (parametersOf: (row: { a: number; b: number }) => unknown[]) =>
    new KnownStatements<{ a: number; b: number }>((row) => {
      compiled.push(row);
      return CompiledQuery.raw('insert into t values (?), (?)', [row.a, row.b]);
    }, parametersOf);

  test('is compiled once, and has the parameters of each row', () => {
    const statements = of(({ a, b }) => [a, b]);
    statements.of({ a: 1, b: 2 }, 'ab');
    expect(statements.of({ a: 3, b: 4 }, 'ab')).toMatchObject({
      sql: 'insert into t values (?), (?)',
      parameters: [3, 4],
    });
    expect(compiled).toEqual([{ a: 1, b: 2 }]);
  });

  test('whose parameters would come in another order is refused', () => {
    expect(() => of(({ a, b }) => [b, a]).of({ a: 1, b: 2 }, 'ab')).toThrow('are not those of');
  });
});
