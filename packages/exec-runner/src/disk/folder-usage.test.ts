import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ProgramError } from '@secbox/host-mounts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { folderUsage } from './folder-usage.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-usage-'));
});
afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

const failing = (exitCode: number | null, output: string) => () =>
  Promise.reject(new ProgramError('du failed', exitCode, output));

describe('what a folder holds', () => {
  test('is measured with all that is beneath it', async () => {
    await mkdir(join(folder, 'a/b'), { recursive: true });
    await writeFile(join(folder, 'a/b/c'), Buffer.alloc(1024 ** 2, 1));
    const usage = await folderUsage(folder);
    expect(usage.bytes).toBeGreaterThanOrEqual(1024 ** 2);
    expect(usage.entries).toBe(process.platform === 'linux' ? 4 : 0);
  });

  test('is nothing where the folder is gone', async () => {
    expect(await folderUsage(join(folder, 'gone'))).toEqual({ bytes: 0, entries: 0 });
  });

  test('is the sum that is told also where something vanished meanwhile', async () => {
    expect((await folderUsage(folder, failing(1, '12\tfolder\n'))).bytes).toBe(12 * 1024);
  });

  test.each([
    ['was killed', failing(null, '')],
    ['was killed when it had begun to print', failing(null, '1')],
    ['gave up without a sum', failing(1, '')],
    ['said nothing', () => Promise.resolve('')],
  ])('is not known where du %s', async (_what, du) => {
    await expect(folderUsage(folder, du)).rejects.toThrow(/^du /);
  });

  test('is never told as nothing while deep names come and go in it', async () => {
    const held = 4 * 1024 ** 2;
    await writeFile(join(folder, 'held'), Buffer.alloc(held, 1));
    const deep = Array.from({ length: 15 }, () => 'n'.repeat(200)).join('/');
    const churn = `while :; do for n in 1 2 3 4; do mkdir -p "$n/${deep}"; done; rm -rf 1 2 3 4; done`;
    const churning = spawn('sh', ['-c', churn], { cwd: folder, stdio: 'ignore' });
    const ended = once(churning, 'exit');
    try {
      for (let times = 0; times < 20; times += 1) {
        const usage = await folderUsage(folder).catch(() => undefined);
        expect(usage?.bytes ?? Infinity).toBeGreaterThanOrEqual(held);
      }
    } finally {
      churning.kill('SIGKILL');
      await ended;
    }
  });
});
