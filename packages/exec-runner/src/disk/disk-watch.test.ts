import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { parseExecId } from '@secbox/contracts';
import { createLogger } from '@secbox/logging';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { StopReason } from '../exec-outcome.js';
import { DiskWatch, type WatchedExec } from './disk-watch.js';
import { freeSpace } from './free-space.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-watch-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** A disk that can never hold its floor. */
const watchOfFullDisk = (floor = Number.MAX_SAFE_INTEGER) =>
  new DiskWatch({
    folders: [folder],
    pendingBytes: () => 0,
    minFreeBytes: () => floor,
    logger: createLogger({ level: 'error', format: 'json', destination: new PassThrough() }),
  });

function execOf(end: (reason: StopReason) => void): WatchedExec {
  return {
    execId: parseExecId(randomUUID()),
    folders: { work: folder, artifacts: folder },
    limits: { artifacts: { bytes: 0, entries: 0 }, work: undefined },
    end,
  };
}

test('for room, those that run are ended; one that has not started is left to wait', async () => {
  const watch = watchOfFullDisk();
  const ended: string[] = [];
  let release: () => void = () => undefined;
  const waiting = execOf(() => ended.push('the waiting one'));
  const wait = watch.during(waiting, () => new Promise<void>((resolve) => (release = resolve)));
  const reason = await new Promise<StopReason>((resolve) => {
    const running = execOf(resolve);
    void watch.during(running, () => wait);
    watch.started(running.execId, { pids: () => Promise.resolve([]) });
  });
  release();
  await wait;
  expect(reason.status).toBe('failed');
  expect(reason.message).toMatch(/^ended to keep the server's disk from filling up/);
  // Both were looked at in the same round.
  expect(ended).toEqual([]);
});

test('for room, one that cannot be measured goes before the largest that can', async () => {
  await writeFile(join(folder, 'held'), Buffer.alloc(4 * 1024 ** 2, 1));
  // Too little is free, but not so little that all have to go.
  const watch = watchOfFullDisk(freeSpace([folder]).bytes * 2);
  let release: () => void = () => undefined;
  const wait = new Promise<void>((resolve) => (release = resolve));
  const all: Promise<void>[] = [];
  const first = await new Promise<string>((resolve) => {
    const run = (name: string, pids: () => Promise<string[]>) => {
      const exec = {
        ...execOf(() => resolve(name)),
        limits: { artifacts: { bytes: Infinity, entries: Infinity }, work: undefined },
      };
      all.push(watch.during(exec, () => wait));
      watch.started(exec.execId, { pids });
    };
    run('measured', () => Promise.resolve([]));
    run('unmeasured', () => Promise.reject(new Error('du was killed')));
  });
  release();
  await Promise.all(all);
  expect(first).toBe('unmeasured');
});
