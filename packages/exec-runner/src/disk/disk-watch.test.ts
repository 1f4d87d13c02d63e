import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { parseExecId } from '@secbox/contracts';
import { createLogger } from '@secbox/logging';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { StopReason } from '../exec-outcome.js';
import { DiskWatch, type WatchedExec } from './disk-watch.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-watch-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** A disk that can never hold its floor. */
const watchOfFullDisk = () =>
  new DiskWatch({
    folders: [folder],
    pendingBytes: () => 0,
    minFreeBytes: () => Number.MAX_SAFE_INTEGER,
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
