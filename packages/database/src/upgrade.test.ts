import { expect, test } from '@jest/globals';
import { defaultTenant } from '@secbox/contracts';
import { migrations } from '@secbox/migrations';
import Sqlite from 'better-sqlite3';
import { Kysely, Migrator, SqliteDialect } from 'kysely';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start, submissionOf } from './exec-store.contract.js';
import { openDatabase } from './open-database.js';

test('rows from before the audit are kept, in order, findable, and go on', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'secbox-upgrade-'));
  const path = join(folder, 'secbox.db');
  try {
    const created = ['2024-05-01T10:00:00.007Z', '2024-05-01T10:00:00.007Z', '2023-01-01T00:00:00.000Z'];
    const submissions = created.map((createdAt, n) =>
      submissionOf({
        created_at: createdAt,
        actor: null,
        args: ['-lc', `say "hello" ${n}`, 'x'],
        idempotency_key: `k${n}`,
      }),
    );
    await makeOld(path, submissions);
    const database = await openDatabase(path);
    try {
      const { items } = await database.audit.list(defaultTenant, {}, { order: 'asc', limit: 10 });
      expect(items.map(({ created_at: at }) => at)).toEqual([...created].sort());
      for (const submission of submissions) {
        expect(await database.execs.find(submission.exec_id)).toMatchObject(submission);
        expect(
          await database.execs.findByIdempotencyKey(defaultTenant, submission.idempotency_key ?? ''),
        ).toMatchObject(submission);
      }
      const filter = { q: 'bash -lc say "hello" 1 x' };
      const found = await database.audit.list(defaultTenant, filter, { order: 'desc', limit: 10 });
      expect(found.items.map(({ exec_id: id }) => id)).toEqual([submissions[1]?.exec_id]);
      for (const { exec_id: id } of submissions) await database.execs.markRunning(id, start);
    } finally {
      await database.close();
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** A database as the version before 0003 left it. */
async function makeOld(path: string, submissions: readonly ReturnType<typeof submissionOf>[]): Promise<void> {
  const sqlite = new Sqlite(path);
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database: sqlite }) });
  const before = Object.fromEntries(Object.entries(migrations).filter(([name]) => name < '0003'));
  const migrator = new Migrator({ db, provider: { getMigrations: () => Promise.resolve(before) } });
  const { error } = await migrator.migrateToLatest();
  expect(error).toBeUndefined();
  for (const { tenant: _t, actor: _a, sandbox_type: _s, ...submission } of submissions) {
    const row: Record<string, unknown> = { ...submission, status: 'queued' };
    for (const list of ['args', 'env_keys', 'policy_snapshot']) row[list] = JSON.stringify(row[list]);
    const names = Object.keys(row);
    const marks = names.map((name) => `@${name}`);
    sqlite.prepare(`INSERT INTO sandbox_execs (${names.join()}) VALUES (${marks.join()})`).run(row);
  }
  await db.destroy();
}
