import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { ExecAnswer } from '@secbox/contracts';
import { mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { mountsBelow } from '../../docker/setup/unmount.mjs';
import { makeSmallDisk } from '../disk/small-disk.js';
import { containersOf } from '../exec/engine-view.js';
import { startOwnEngine } from '../exec/own-engine.js';
import { startServer } from '../lifecycle/server-process.js';
import { SeededRandom } from '../soak/seeded-random.js';
import { countRuns, runCountedExecs } from './counted-execs.js';

/** `npm run chaos` sets these; in npm test a small run must do. */
const execs = Number(process.env['CHAOS_EXECS'] ?? 24);
const seed = Number(process.env['CHAOS_SEED'] ?? 1);
const whole = process.env['CHAOS_EXECS'] !== undefined;
const atOnce = 8;
const say = (text: string) => {
  if (whole) process.stdout.write(`${text}\n`);
};
jest.setTimeout(120_000 + execs * 5000);

let dataDir: string;
let server: Awaited<ReturnType<typeof startServer>> | undefined;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'sbc-'));
});
afterEach(async () => {
  await server?.end('SIGTERM');
  server = undefined;
  await rm(dataDir, { recursive: true, force: true });
});

const start = async (more: Record<string, string> = {}) => {
  server = await startServer({
    SECBOX_DATA_DIR: dataDir,
    SECBOX_LOG_LEVEL: 'warn',
    SECBOX_SHUTDOWN_GRACE_MS: '0',
    ...more,
  });
};
/** While there is none, nobody answers. */
const url = () => server?.url ?? 'http://127.0.0.1:1';

/** Some time into the work, so often, until it is over. */
async function disturb<T>(
  work: Promise<T>,
  times: number,
  random: SeededRandom,
  trouble: () => Promise<void>,
) {
  const state = { over: false };
  const done = work.finally(() => (state.over = true));
  let happened = 0;
  for (; happened < times && !state.over; happened += 1) {
    await pause(random.between(300, 2500));
    await trouble();
  }
  return { result: await done, happened };
}

/** Every exec is over, for a reason that can be; what never started did not end as if it had; nothing ran twice. */
async function expectAccounted(answers: readonly ExecAnswer[], reasons: RegExp): Promise<void> {
  expect(answers).toHaveLength(execs);
  expect(new Set(answers.map(({ exec_id: execId }) => execId)).size).toBe(execs);
  const runs = await countRuns(url);
  const wrong = answers.filter((answer) => {
    const file = answer.idempotency_key ?? '';
    const ran = runs.get(file) ?? 0;
    if (answer.status === 'succeeded') return ran !== 1 || answer.stdout !== `${file}\n`;
    return answer.started_at === null || ran > 1 || !reasons.test(answer.error_reason ?? '');
  });
  expect(wrong).toEqual([]);
  const count = (status: string) => answers.filter((answer) => answer.status === status).length;
  say(`  ${count('succeeded')} succeeded, ${execs - count('succeeded')} were interrupted`);
}

async function expectNothingLeft(): Promise<void> {
  await server?.end('SIGTERM');
  expect(await readdir(join(dataDir, 'workspace/spool'))).toEqual([]);
  expect(mountsBelow(dataDir)).toEqual([]);
}

test(`the server is killed while ${execs} execs run, ${atOnce} at a time, seed ${seed} (case 63)`, async () => {
  const random = new SeededRandom(seed);
  await start();
  const load = runCountedExecs({ url, execs, atOnce, name: 'server', random });
  const { result, happened } = await disturb(load, whole ? 10 : 2, random, async () => {
    await server?.end('SIGKILL');
    await start();
  });
  say(`server killed ${happened} times`);
  await expectAccounted(result, /^interrupted: the server ended/);
  await expectNothingLeft();
  expect(await containersOf(dataDir)).toEqual([]);
});

test(`the engine is killed while ${execs} execs run (case 64)`, async () => {
  const random = new SeededRandom(seed + 1);
  const engine = await startOwnEngine();
  try {
    await start({ DOCKER_HOST: engine.dockerHost });
    const load = runCountedExecs({ url, execs, atOnce, name: 'engine', random });
    const { result, happened } = await disturb(load, whole ? 3 : 1, random, async () => {
      await engine.kill();
      await engine.start();
    });
    say(`engine killed ${happened} times`);
    await expectAccounted(result, /engine|could not be heard|log of the server/);
    await expectNothingLeft();
  } finally {
    await server?.end('SIGTERM');
    server = undefined;
    await engine.close();
  }
});

test(`the disk is filled while ${execs} execs run (cases 33, 65)`, async () => {
  const random = new SeededRandom(seed + 2);
  const disk = await makeSmallDisk(768 * 1024 ** 2);
  await rm(dataDir, { recursive: true });
  dataDir = join(disk.path, 'data');
  try {
    await start();
    await fetch(`${url()}/settings`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json', 'if-match': '"0"' },
      body: JSON.stringify({ sandbox: { min_free_mb: 64, project_work_mb: 64 } }),
    });
    const load = runCountedExecs({ url, execs, atOnce, name: 'disk', random });
    const filler = join(disk.path, 'filler');
    const { result, happened } = await disturb(load, whole ? 5 : 1, random, async () => {
      await fill(filler);
      await pause(random.between(200, 1500));
      await rm(filler);
    });
    say(`disk filled ${happened} times`);
    await expectAccounted(result, /disk|room|no space|ENOSPC|log of the server/i);
    await expectNothingLeft();
    expect(await containersOf(dataDir)).toEqual([]);
  } finally {
    await server?.end('SIGTERM');
    server = undefined;
    await disk.remove();
  }
});

/** To the last byte. */
async function fill(path: string): Promise<void> {
  const file = await open(path, 'w');
  const block = Buffer.alloc(4 * 1024 ** 2);
  try {
    for (;;) await file.write(block);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOSPC') throw error;
  } finally {
    await file.close();
  }
}
