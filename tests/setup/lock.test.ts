import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { withLock } from '../../docker/setup/lock.mjs';

const at = { folder: '', lock: '' };
const children: ChildProcess[] = [];

beforeEach(async () => {
  at.folder = await mkdtemp(join(tmpdir(), 'lock-'));
  at.lock = join(at.folder, 'lock');
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  }
  await rm(at.folder, { recursive: true });
});

const module = new URL('../../docker/setup/lock.mjs', import.meta.url).href;

/** A process of its own that runs `body` while it holds the lock. */
function contender(body: string): ChildProcess {
  const program = `
    import fs from 'node:fs';
    import { setTimeout as sleep } from 'node:timers/promises';
    import { withLock } from ${JSON.stringify(module)};
    const folder = ${JSON.stringify(at.folder)};
    const options = { signal: new AbortController().signal, timeoutMs: 60_000 };
    await withLock(${JSON.stringify(at.lock)}, options, async () => { ${body} });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  return child;
}

const lock = (work: () => Promise<unknown>, timeoutMs = 60_000) =>
  withLock(at.lock, { signal: new AbortController().signal, timeoutMs }, work);

async function said(child: ChildProcess): Promise<void> {
  if (child.stdout !== null) await once(child.stdout, 'data');
}

describe('the lock', () => {
  test('lets eight processes in one after another', async () => {
    // The folder can be made only while nobody else is inside.
    const body = `fs.mkdirSync(folder + '/inside'); await sleep(5); fs.rmdirSync(folder + '/inside');
      fs.appendFileSync(folder + '/count', 'x');`;
    const codes = await Promise.all(
      Array.from({ length: 8 }, async () => (await once(contender(body.repeat(3)), 'exit'))[0] as number),
    );
    expect(codes).toEqual(Array.from({ length: 8 }, () => 0));
    expect(await readFile(join(at.folder, 'count'), 'utf8')).toBe('x'.repeat(24));
  });

  test('is free again after a holder was killed', async () => {
    const holder = contender(`console.log('in'); await sleep(600_000);`);
    await said(holder);
    await expect(lock(() => Promise.resolve('early'), 100)).rejects.toThrow(`pid ${holder.pid ?? ''}`);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    expect(await lock(() => Promise.resolve('later'))).toBe('later');
  });

  test('many that find a dead holder still go in one by one', async () => {
    const holder = contender(`console.log('in'); await sleep(600_000);`);
    await said(holder);
    const body = `fs.mkdirSync(folder + '/inside'); await sleep(5); fs.rmdirSync(folder + '/inside');`;
    const waiting = Array.from({ length: 6 }, () => contender(body));
    const codes = Promise.all(waiting.map(async (child) => (await once(child, 'exit'))[0] as number));
    holder.kill('SIGKILL');
    expect(await codes).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test('a pid that belongs to another process now does not hold it', async () => {
    await lock(() => Promise.resolve());
    const [number = ''] = await readdir(at.lock);
    await writeFile(join(at.lock, number), JSON.stringify({ pid: process.pid, started: 'another boot/1' }));
    expect(await lock(() => Promise.resolve('mine'), 100)).toBe('mine');
  });

  test('is freed when the work fails, and leaves one small file', async () => {
    await expect(lock(() => Promise.reject(new Error('work')))).rejects.toThrow('work');
    expect(await lock(() => Promise.resolve('again'), 100)).toBe('again');
    expect(await readdir(at.lock)).toHaveLength(1);
  });

  test('waiting ends when it is called off', async () => {
    const stop = new AbortController();
    await lock(async () => {
      const second = withLock(
        at.lock,
        { signal: stop.signal, timeoutMs: 60_000, onWait: () => stop.abort(new Error('called off')) },
        () => Promise.resolve(writeFile(join(at.folder, 'ran'), '')),
      );
      await expect(second).rejects.toThrow();
    });
    expect(existsSync(join(at.folder, 'ran'))).toBe(false);
  });
});
