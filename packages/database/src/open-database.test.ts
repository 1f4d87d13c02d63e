import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import Sqlite from 'better-sqlite3';
import {
  chmod,
  chown,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventOf, keyOf } from './access-stores.contract.js';
import { finishedOf, submissionOf } from './exec-store.contract.js';
import { openDatabase } from './open-database.js';

jest.setTimeout(60_000);

describe('opening a database', () => {
  let folder: string;
  let path: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'secbox-open-'));
    path = join(folder, 'secbox.db');
  });

  afterEach(async () => {
    await rm(folder, { recursive: true });
    expect(await openBelow(folder)).toEqual([]);
  });

  const unavailable = (...words: readonly string[]) => ({
    code: 'database_unavailable',
    message: expect.stringMatching(words.join('.*')),
  });

  async function made(): Promise<void> {
    const database = await openDatabase(path);
    await database.close();
  }

  /** Root may write everything, so that only another user meets what the permissions say. */
  async function withoutPrivileges<T>(use: () => Promise<T>): Promise<T> {
    if (process.geteuid?.() !== 0) return use();
    process.seteuid?.(1000);
    try {
      return await use();
    } finally {
      process.seteuid?.(0);
    }
  }

  test('makes the file, in a mode where readers do not wait for the writer', async () => {
    await made();
    const sqlite = new Sqlite(path, { readonly: true });
    expect(sqlite.pragma('journal_mode', { simple: true })).toBe('wal');
    sqlite.close();
  });

  test('what was committed comes from the log into the file, and not at the end of a commit', async () => {
    const database = await openDatabase(path);
    try {
      const { size } = await stat(path);
      for (let n = 0; n < 200; n += 1) await database.execs.insert(submissionOf());
      while ((await stat(path)).size === size) await new Promise((resolve) => setTimeout(resolve, 20));
    } finally {
      await database.close();
    }
  });

  test('an empty file is a new database', async () => {
    await writeFile(path, '');
    await made();
  });

  test('a file that is no database is told and left as it is', async () => {
    const text = 'This is a letter, not a database.\n'.repeat(100);
    await writeFile(path, text);
    await expect(openDatabase(path)).rejects.toMatchObject(unavailable(path, 'not a database'));
    expect(await readFile(path, 'utf8')).toBe(text);
  });

  test('a folder that is missing is told and not made', async () => {
    const below = join(folder, 'missing', 'secbox.db');
    await expect(openDatabase(below)).rejects.toMatchObject(unavailable(below, 'directory does not exist'));
    expect(await readdir(folder)).toEqual([]);
  });

  test('a folder in the place of the file is told', async () => {
    await mkdir(path);
    await expect(openDatabase(path)).rejects.toMatchObject(unavailable(path, 'unable to open'));
  });

  test.each([
    ['in a folder that may be written', 0o777],
    ['in a folder that may not', 0o555],
  ])('a file that may not be written is told, %s', async (_what, mode) => {
    await made();
    await chmod(path, 0o444);
    await chmod(folder, mode);
    await withoutPrivileges(() =>
      expect(openDatabase(path)).rejects.toMatchObject(unavailable(path, 'readonly database')),
    );
    await chmod(folder, 0o755);
  });

  test('a folder where nothing may be made is told', async () => {
    if (process.geteuid?.() === 0) await chown(folder, 0, 0);
    await chmod(folder, 0o555);
    await withoutPrivileges(() =>
      expect(openDatabase(path)).rejects.toMatchObject(unavailable(path, 'unable to open')),
    );
    await chmod(folder, 0o755);
  });

  describe('while another connection', () => {
    let other: Sqlite.Database;

    afterEach(() => void other.close());

    test('has it for itself, is told', async () => {
      other = new Sqlite(path);
      other.exec('CREATE TABLE theirs (x); BEGIN EXCLUSIVE');
      await expect(openDatabase(path)).rejects.toMatchObject(unavailable(path, 'database is locked'));
    });

    test('writes without an end, is told: neither writable nor written', async () => {
      const database = await openDatabase(path);
      const submission = submissionOf();
      try {
        other = new Sqlite(path);
        other.exec('BEGIN IMMEDIATE');
        await expect(database.checkWritable()).rejects.toMatchObject(unavailable(path, 'database is locked'));
        await expect(database.execs.insert(submission)).rejects.toMatchObject(
          unavailable('database is locked'),
        );
        const insertKey = database.keys.insert(keyOf(), eventOf('key_created'));
        await expect(insertKey).rejects.toMatchObject(unavailable('database is locked'));
        const touch = database.keys.touch(keyOf().key_id, submission.created_at);
        await expect(touch).rejects.toMatchObject(unavailable('database is locked'));
        expect(await database.execs.find(submission.exec_id)).toBeUndefined();

        other.exec('ROLLBACK');
        await database.checkWritable();
        await database.execs.insert(submission);
        await database.execs.finish(submission.exec_id, finishedOf('cancelled'));
      } finally {
        await database.close();
      }
    });
  });

  describe('whose file', () => {
    test.each(['secbox.db', 'secbox.db-wal'])('%s is removed is told, until it is back', async (name) => {
      const database = await openDatabase(path);
      const [file, away] = [join(folder, name), join(folder, 'away')];
      const submission = submissionOf();
      const key = keyOf();
      await database.keys.insert(key, eventOf('key_created'));
      const project = { tenant: key.tenant, projectId: submission.project_id };
      try {
        await rename(file, away);
        for (const replaced of [false, true]) {
          if (replaced) await copyFile(away, file);
          await expect(database.checkWritable()).rejects.toMatchObject(unavailable(name, 'was removed'));
          if (name === 'secbox.db-wal') continue;
          const gone = unavailable('was removed or replaced');
          const { keys, settings, events, retention } = database;
          const event = eventOf('key_revoked');
          for (const write of [
            () => database.execs.insert(submission),
            () => keys.revoke(key.key_id, null, event.at, event),
            () => keys.touch(key.key_id, event.at),
            () => settings.put({}, 0, new Date(), event),
            () => events.insert(event),
            () => retention.beginRemoval(project, 'project', { at: event.at, reason: 'deleted', by: null }),
          ]) {
            await expect(write()).rejects.toMatchObject(gone);
          }
        }
        await rename(away, file);
        await database.checkWritable();
        await database.execs.insert(submission);
        const { tenant, revoked_at: revokedAt } = key;
        expect(await database.keys.find(tenant, key.key_id)).toMatchObject({ revoked_at: revokedAt });
        expect(await database.settings.current()).toMatchObject({ version: 0 });
      } finally {
        await database.close();
      }
    });
  });

  describe('that cannot be brought up to date', () => {
    function change(sql: string): void {
      const sqlite = new Sqlite(path);
      sqlite.exec(sql);
      sqlite.close();
    }

    test('as a newer version made it', async () => {
      await made();
      change("INSERT INTO kysely_migration VALUES ('9999-from-the-future', '2030-01-01')");
      await expect(openDatabase(path)).rejects.toMatchObject(
        unavailable(path, 'brought up to date', '9999-from-the-future'),
      );
    });

    test('as something else has our table', async () => {
      change('CREATE TABLE sandbox_execs (theirs)');
      await expect(openDatabase(path)).rejects.toMatchObject(
        unavailable(path, '0001-sandbox-execs', 'already exists'),
      );
    });
  });

  test('what is closed answers no more, and lets go of its files', async () => {
    const database = await openDatabase(path);
    await database.close();
    await expect(database.execs.unfinished()).rejects.toThrow(/destroyed|not open/);
    await expect(database.checkWritable()).rejects.toMatchObject(unavailable(path, 'not open'));
  });
});

/** What this process holds open below a folder. */
async function openBelow(path: string): Promise<string[]> {
  const descriptors = await readdir('/proc/self/fd');
  const targets = await Promise.all(
    descriptors.map((descriptor) => readlink(`/proc/self/fd/${descriptor}`).catch(() => '')),
  );
  return targets.filter((target) => target.startsWith(path));
}
