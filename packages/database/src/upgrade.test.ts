import { expect, test } from '@jest/globals';
import { defaultTenant } from '@secbox/contracts';
import { migrations } from '@secbox/migrations';
import Sqlite from 'better-sqlite3';
import { Kysely, Migrator, SqliteDialect } from 'kysely';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { itemsOf } from './audit-store.contract.js';
import { toRow } from './exec-row.js';
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
        skill_digest: null,
        user_id: null,
        agent_id: null,
        args: ['-lc', `say "hello" ${n}`, 'x'],
        idempotency_key: `k${n}`,
      }),
    );
    await makeOld(path, submissions);
    const database = await openDatabase(path);
    try {
      const page = await database.audit.list(defaultTenant, {}, { order: 'asc', limit: 10 });
      expect(itemsOf(page).map(({ created_at: at }) => at)).toEqual([...created].sort());
      for (const submission of submissions) {
        expect(await database.execs.find(submission.exec_id)).toMatchObject(submission);
        expect(
          await database.execs.findByIdempotencyKey(defaultTenant, submission.idempotency_key ?? ''),
        ).toMatchObject(submission);
      }
      const filter = { q: 'bash -lc say "hello" 1 x' };
      const found = await database.audit.list(defaultTenant, filter, { order: 'desc', limit: 10 });
      expect(itemsOf(found).map(({ exec_id: id }) => id)).toEqual([submissions[1]?.exec_id]);
      for (const { exec_id: id } of submissions) await database.execs.markRunning(id, start);
    } finally {
      await database.close();
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('contents from before retention belong to the projects whose execs saw them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'secbox-upgrade-'));
  const path = join(folder, 'secbox.db');
  try {
    const submission = submissionOf();
    const { sqlite, db } = await migratedBefore(path, '0004');
    const row = { ...toRow(submission), seq: 1 };
    const later = [
      'files_removed_at',
      'files_removed_reason',
      'files_removed_by',
      'skill_digest',
      'output_error',
      'user_id',
      'agent_id',
      'skill_version',
      'skill_source',
      'effects',
    ];
    const old = Object.fromEntries(Object.entries(row).filter(([name]) => !later.includes(name)));
    insert(sqlite, 'sandbox_execs', old);
    const input = {
      exec_id: submission.exec_id,
      ordinal: 0,
      path: 'a',
      size: 1,
      sha256: 'a'.repeat(64),
      secret: 0,
    };
    insert(sqlite, 'sandbox_exec_inputs', input);
    insert(sqlite, 'sandbox_exec_inputs', { ...input, ordinal: 1, path: 'again' });
    insert(sqlite, 'sandbox_exec_inputs', { ...input, ordinal: 2, sha256: null, size: null, secret: 1 });
    await db.destroy();
    const database = await openDatabase(path);
    try {
      const project = { tenant: defaultTenant, projectId: submission.project_id };
      expect(await database.retention.contents(project, 10)).toEqual([
        { sha256: input.sha256, shared: false },
      ]);
      expect(await database.execs.find(submission.exec_id)).toMatchObject({ files_removed_at: null });
    } finally {
      await database.close();
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('commands of other tenants than the default one are indexed anew, and each is found by its own', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'secbox-upgrade-'));
  const path = join(folder, 'secbox.db');
  try {
    const submissions = ['default', 'acme', 'acme'].map((tenant) => submissionOf({ tenant }));
    const { sqlite, db } = await migratedBefore(path, '0013');
    for (const [seq, submission] of submissions.entries()) {
      insert(sqlite, 'sandbox_execs', { ...toRow(submission), seq });
      insert(sqlite, 'sandbox_exec_commands', { rowid: seq, command: 'bash -lc true' });
    }
    // It waited, and waits still.
    insert(sqlite, 'commands_to_index', { seq: 2 });
    sqlite.exec('delete from sandbox_exec_commands where rowid = 2');
    await db.destroy();
    const database = await openDatabase(path);
    try {
      const found = async (tenant: string) =>
        itemsOf(await database.audit.list(tenant, { q: 'bash' }, { order: 'asc', limit: 9 })).map(
          ({ exec_id: id }) => id,
        );
      const [first, ...others] = submissions.map(({ exec_id: id }) => id);
      expect(await found('default')).toEqual([first]);
      expect(await found('acme')).toEqual(others);
    } finally {
      await database.close();
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** A database as the version before 0003 left it. */
async function makeOld(path: string, submissions: readonly ReturnType<typeof submissionOf>[]): Promise<void> {
  const { sqlite, db } = await migratedBefore(path, '0003');
  const later = ['tenant', 'actor', 'sandbox_type', 'skill_digest', 'user_id', 'agent_id'];
  for (const submission of submissions) {
    const known = Object.entries(submission).filter(([name]) => !later.includes(name));
    const row: Record<string, unknown> = { ...Object.fromEntries(known), status: 'queued' };
    for (const list of ['args', 'env_keys', 'policy_snapshot']) row[list] = JSON.stringify(row[list]);
    insert(sqlite, 'sandbox_execs', row);
  }
  await db.destroy();
}

async function migratedBefore(path: string, version: string) {
  const sqlite = new Sqlite(path);
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database: sqlite }) });
  const before = Object.fromEntries(Object.entries(migrations).filter(([name]) => name < version));
  const migrator = new Migrator({ db, provider: { getMigrations: () => Promise.resolve(before) } });
  const { error } = await migrator.migrateToLatest();
  expect(error).toBeUndefined();
  return { sqlite, db };
}

function insert(sqlite: Sqlite.Database, table: string, row: Readonly<Record<string, unknown>>): void {
  const names = Object.keys(row);
  const marks = names.map((name) => `@${name}`);
  sqlite.prepare(`INSERT INTO ${table} (${names.join()}) VALUES (${marks.join()})`).run(row);
}
