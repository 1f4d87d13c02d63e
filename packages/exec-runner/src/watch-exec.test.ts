import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { getEventListeners } from 'node:events';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecRecord, ExecStatus } from '@secbox/contracts';
import { Progress } from './progress.js';
import { watchExec, type ExecEvent, type OutputStream } from './watch-exec.js';

let folder: string;
let recorded: OutputStream[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-watch-'));
  recorded = ['stdout', 'stderr'];
});
afterEach(() => rm(folder, { recursive: true }));

function watching(signal: AbortSignal) {
  const progress = new Progress();
  const row: { status: ExecStatus } = { status: 'running' };
  const events = watchExec({
    folders: { spool: folder, artifacts: folder },
    find: () => Promise.resolve(row as ExecRecord),
    isRecorded: (stream) => Promise.resolve(recorded.includes(stream)),
    progress,
    from: { stdout: 0, stderr: 0, state: 0 },
    signal,
  });
  return { progress, row, events };
}

const textOf = (event: ExecEvent | undefined) =>
  event?.type === 'stdout' ? event.data.toString() : event?.type === 'state' ? event.status : undefined;

describe('watching an exec', () => {
  test('keeps nothing per change, however many there are', async () => {
    const leaving = new AbortController();
    const { progress, row, events } = watching(leaving.signal);
    expect(textOf((await events.next()).value as ExecEvent)).toBe('running');
    for (let n = 0; n < 50; n += 1) {
      const next = events.next();
      await appendFile(join(folder, 'stdout.txt'), `${n};`);
      progress.report();
      expect(textOf((await next).value as ExecEvent)).toBe(`${n};`);
      expect(getEventListeners(leaving.signal, 'abort').length).toBeLessThan(2);
    }
    row.status = 'succeeded';
    progress.report();
    expect(textOf((await events.next()).value as ExecEvent)).toBe('succeeded');
    expect(await events.next()).toEqual({ done: true, value: undefined });
    expect(getEventListeners(leaving.signal, 'abort')).toEqual([]);
  });

  test.each([
    ['what was published', ['stdout'], ['kept', 'failed']],
    ['nothing that its program left in the place of it', [], ['failed']],
  ] as const)('of one that is over tells %s', async (_what, listed, told) => {
    recorded = [...listed];
    await writeFile(join(folder, 'stdout.txt'), 'kept');
    await writeFile(join(folder, 'stderr.txt'), 'planted');
    const { row, events } = watching(new AbortController().signal);
    row.status = 'failed';
    const seen: ExecEvent[] = [];
    for await (const event of events) seen.push(event);
    expect(seen.map(textOf)).toEqual(told);
  });

  test('ends when the watcher leaves, while nothing happens', async () => {
    const leaving = new AbortController();
    const { events } = watching(leaving.signal);
    await events.next();
    const next = events.next();
    leaving.abort();
    expect(await next).toEqual({ done: true, value: undefined });
  });
});
