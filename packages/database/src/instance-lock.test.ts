import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockInstance } from './instance-lock.js';

jest.setTimeout(60_000);

/** Takes the lock as a server does, says how that went, and holds it until it is ended. */
const holder = `
  const Sqlite = require(process.argv[1]);
  const sqlite = new Sqlite(process.argv[2], { timeout: 0 });
  let answer = 'held';
  try {
    sqlite.pragma('locking_mode = EXCLUSIVE');
    sqlite.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    answer = error.code;
  }
  process.stdout.write(answer);
  process.stdin.resume();`;

describe('the lock of a data folder', () => {
  let folder: string;
  let path: string;
  const children: ChildProcess[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'secbox-lock-'));
    path = join(folder, 'server.lock');
  });

  afterEach(async () => {
    for (const child of children.splice(0)) await kill(child);
    await rm(folder, { recursive: true });
  });

  async function otherProcess(): Promise<{ child: ChildProcess; answer: string }> {
    const driver = createRequire(import.meta.url).resolve('better-sqlite3');
    const child = spawn(process.execPath, ['-e', holder, driver, path], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    children.push(child);
    const [answer] = (await once(child.stdout, 'data')) as [Buffer];
    return { child, answer: answer.toString() };
  }

  const inUse = expect.objectContaining({
    code: 'data_dir_in_use',
    message: expect.stringContaining('SECBOX_DATA_DIR'),
  });

  test('is given once, and again after its release', () => {
    const lock = lockInstance(path);
    expect(() => lockInstance(path)).toThrow(inUse);
    lock.release();
    lockInstance(path).release();
  });

  test('is not lost by the failed attempts of others', async () => {
    const lock = lockInstance(path);
    for (let n = 0; n < 10; n += 1) expect(() => lockInstance(path)).toThrow(inUse);
    expect((await otherProcess()).answer).toBe('SQLITE_BUSY');
    lock.release();
    expect((await otherProcess()).answer).toBe('held');
  });

  test('that another process holds is refused, with where it is', async () => {
    expect((await otherProcess()).answer).toBe('held');
    expect(() => lockInstance(path)).toThrow(inUse);
    expect(() => lockInstance(path)).toThrow(path);
  });

  test('is free at once when its holder is killed, however suddenly', async () => {
    const { child, answer } = await otherProcess();
    expect(answer).toBe('held');
    await kill(child);
    lockInstance(path).release();
  });

  test('of one folder does not touch another', () => {
    const lock = lockInstance(path);
    lockInstance(`${path}.other`).release();
    lock.release();
  });

  test('that cannot be made is told as such, not as held', async () => {
    const unavailable = expect.objectContaining({
      code: 'database_unavailable',
      message: expect.stringContaining(folder),
    });
    expect(() => lockInstance(join(folder, 'missing', 'server.lock'))).toThrow(unavailable);
    expect(() => lockInstance(folder)).toThrow(unavailable);
    await writeFile(path, 'not a lock'.repeat(100));
    expect(() => lockInstance(path)).toThrow(unavailable);
  });
});

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
