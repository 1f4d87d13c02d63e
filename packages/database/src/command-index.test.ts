import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { defaultTenant, type ExecId } from '@secbox/contracts';
import Sqlite from 'better-sqlite3';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { submissionOf } from './exec-store.contract.js';
import { openDatabase, type Database } from './open-database.js';

let folder: string;
let database: Database;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-commands-'));
  database = await openDatabase(join(folder, 'secbox.db'));
});

afterEach(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

async function insert(script: string): Promise<ExecId> {
  const submission = submissionOf({ args: ['-lc', script] });
  await database.execs.insert(submission);
  return submission.exec_id;
}

async function found(q: string, tenant: string = defaultTenant): Promise<string[]> {
  const { items } = await database.audit.list(tenant, { q }, { order: 'asc', limit: 500 });
  const rows = JSON.parse(`[${new TextDecoder().decode(items)}]`) as { exec_id: string }[];
  return rows.map((row) => row.exec_id);
}

describe('the index of commands', () => {
  test('has all that was written before the question, however much it is', async () => {
    const ids: ExecId[] = [];
    for (let n = 0; n < 100; n += 1) {
      // Some fill a transaction of the index alone.
      ids.push(await insert(n % 30 === 0 ? `needle ${'x'.repeat(70_000)}` : `echo needle ${n}`));
    }
    expect(await found('needle')).toEqual(ids);
    expect((await database.audit.stats(defaultTenant, { q: 'needle' })).total.execs).toBe(100);
  });

  test('has it for everybody who asks at the same moment', async () => {
    const first = await insert('echo needle');
    const asked = [found('needle'), found('needle')];
    const second = await insert('echo needle again');
    asked.push(found('needle'));
    for (const answer of await Promise.all(asked)) expect(answer).toContain(first);
    expect(await found('needle again')).toEqual([second]);
  });

  test('gets what waited when the server was gone before', async () => {
    const id = await insert('echo needle');
    await database.close();
    database = await openDatabase(join(folder, 'secbox.db'));
    expect(await found('needle')).toEqual([id]);
  });

  test('has a stretch for each tenant, so that nobody searches among the commands of others', async () => {
    const ids: ExecId[] = [];
    for (const tenant of ['acme', defaultTenant, 'beta', 'acme', 'beta']) {
      const submission = submissionOf({ tenant, args: ['-lc', 'echo needle'] });
      await database.execs.insert(submission);
      if (tenant === 'acme') ids.push(submission.exec_id);
    }
    expect(await found('needle', 'acme')).toEqual(ids);
    expect(await found('needle', 'nobody')).toEqual([]);
    const beside = new Sqlite(join(folder, 'secbox.db'), { readonly: true });
    const places = beside.prepare('select place from command_places order by place').pluck().all();
    expect(places).toEqual([0, 1, 2]);
    const counts = beside
      .prepare('select count(*) from sandbox_exec_commands group by rowid >> 52 order by rowid')
      .pluck()
      .all();
    expect(counts).toEqual([1, 2, 2]);
    beside.close();
  });

  test('is brought up to date without being asked', async () => {
    await insert('echo needle');
    const beside = new Sqlite(join(folder, 'secbox.db'), { readonly: true });
    const waiting = beside.prepare('select count(*) from commands_to_index').pluck();
    while (waiting.get() !== 0) await new Promise((resolve) => setTimeout(resolve, 20));
    const match = "select count(*) from sandbox_exec_commands where sandbox_exec_commands match 'needle'";
    expect(beside.prepare(match).pluck().get()).toBe(1);
    beside.close();
  });

  test('that cannot be written says so rather than miss an exec; other lists are not concerned', async () => {
    const id = await insert('echo needle');
    const other = new Sqlite(join(folder, 'secbox.db'));
    other.exec('begin immediate');
    await expect(found('needle')).rejects.toMatchObject({
      code: 'database_unavailable',
      message: expect.stringMatching(/[^.]\. Execs can be listed without q\.$/),
    });
    const all = await database.audit.list(defaultTenant, {}, { order: 'asc', limit: 5 });
    expect(new TextDecoder().decode(all.items)).toContain(id);
    other.exec('rollback');
    other.close();
    expect(await found('needle')).toEqual([id]);
  });
});
