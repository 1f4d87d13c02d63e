import { expect, test } from '@jest/globals';
import { newExecId } from '@secbox/contracts';
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import { readFile, writeFile } from 'node:fs/promises';
import { env } from 'node:process';
import { finishedOf, start, submissionOf } from './exec-store.contract.js';
import { ExecStore } from './exec-store.js';
import type { Tables } from './tables.js';

const committed = new URL('exec-store.sql', import.meta.url);

const calls: Readonly<Record<string, (store: ExecStore) => Promise<unknown>>> = {
  insert: (store) => store.insert(submissionOf()),
  markRunning: (store) => store.markRunning(newExecId(), start),
  finish: (store) => store.finish(newExecId(), finishedOf('succeeded')),
  find: (store) => store.find(newExecId()),
  findByIdempotencyKey: (store) => store.findByIdempotencyKey('default', 'key'),
  unfinished: (store) => store.unfinished(),
};

/** The statements that a call sends, on a driver that answers nothing. */
async function statementsOf(call: (store: ExecStore) => Promise<unknown>): Promise<string[]> {
  const statements: string[] = [];
  const db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (kysely) => new SqliteIntrospector(kysely),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
    log: ({ query }) => void statements.push(query.sql),
  });
  // A change that reaches no row is refused, and here none does.
  await call(new ExecStore(db)).catch(() => undefined);
  return statements;
}

test('every call of the exec store sends the SQL of exec-store.sql (UPDATE_SQL=1 writes it)', async () => {
  expect(Object.keys(calls).sort()).toEqual(
    Object.getOwnPropertyNames(ExecStore.prototype)
      .filter((name) => name !== 'constructor')
      .sort(),
  );
  const parts: string[] = [];
  for (const [name, call] of Object.entries(calls)) {
    parts.push([`-- ${name}`, ...(await statementsOf(call)).map((sql) => `${sql};`)].join('\n'));
  }
  const sql = `${parts.join('\n\n')}\n`;
  if (env['UPDATE_SQL'] === '1') await writeFile(committed, sql);
  expect(sql).toBe(await readFile(committed, 'utf8'));
});
