import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { ExecAnswer } from '@secbox/contracts';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { mountsBelow } from '../../docker/setup/unmount.mjs';
import { fillDisk, makeSmallDisk } from '../disk/small-disk.js';
import { containersOf, volumesOf } from '../exec/engine-view.js';
import { startOwnEngine } from '../exec/own-engine.js';
import { startServer } from '../lifecycle/server-process.js';
import { pooled } from '../pool/pooled.js';
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
    ...pooled(4),
    ...more,
  });
};
/** While there is none, nobody answers. */
const url = () => server?.url ?? 'http://127.0.0.1:1';

/** Sends execs until the trouble has happened so often, each time some time into them. */
async function disturb(
  name: string,
  times: number,
  seedOf: number,
  trouble: (random: SeededRandom) => Promise<void>,
): Promise<ExecAnswer[]> {
  // What is sent and when what happens are drawn apart, so that a seed repeats both.
  const random = new SeededRandom(seedOf);
  let happened = 0;
  const more = () => happened < times;
  const load = runCountedExecs({ url, execs, more, atOnce, name, random: new SeededRandom(seedOf) });
  load.catch(() => (happened = times));
  while (happened < times) {
    await pause(random.between(300, 2500));
    await trouble(random);
    happened += 1;
  }
  return load;
}

interface Expected {
  /** Why an exec may have ended before its time. */
  readonly reasons: RegExp;
  /** Files of a project may be lost, as on a host's disk that is full to the last byte. */
  readonly losesFiles?: boolean;
}

/** Every exec is over, for a reason that can be; what never started did not end as if it had; nothing ran twice. */
async function expectAccounted(
  answers: readonly ExecAnswer[],
  { reasons, losesFiles = false }: Expected,
): Promise<void> {
  expect(answers.length).toBeGreaterThanOrEqual(execs);
  expect(new Set(answers.map(({ exec_id: execId }) => execId)).size).toBe(answers.length);
  const runs = await countRuns(url);
  const seen = answers.map((answer) => ({
    file: answer.idempotency_key ?? '',
    ran: runs.get(answer.idempotency_key ?? '') ?? 0,
    status: answer.status,
    started: answer.started_at,
    exit_code: answer.exit_code,
    stdout: answer.stdout,
    stderr: answer.stderr,
    reason: answer.error_reason ?? '',
  }));
  const wrong = seen.filter(({ file, ran, status, started, stdout, reason }) => {
    if (status === 'succeeded') return ran > 1 || (ran === 0 && !losesFiles) || stdout !== `${file}\n`;
    return started === null || ran > 1 || !reasons.test(reason);
  });
  expect(wrong).toEqual([]);
  const count = (status: string) => answers.filter((answer) => answer.status === status).length;
  say(`  ${count('succeeded')} succeeded, ${answers.length - count('succeeded')} were interrupted`);
}

async function expectNothingLeft(dockerHost?: string): Promise<void> {
  await server?.end('SIGTERM');
  expect(await containersOf(dataDir, dockerHost)).toEqual([]);
  expect(await volumesOf(dataDir, dockerHost)).toEqual([]);
  expect(await readdir(join(dataDir, 'workspace/spool'))).toEqual([]);
  expect(mountsBelow(dataDir)).toEqual([]);
}

test(`the server is killed while ${execs} execs run, ${atOnce} at a time, seed ${seed} (case 63)`, async () => {
  await start();
  const times = whole ? 10 : 2;
  const answers = await disturb('server', times, seed, async () => {
    await server?.end('SIGKILL');
    await start();
  });
  say(`server killed ${times} times`);
  await expectAccounted(answers, { reasons: /^interrupted: the server ended/ });
  await expectNothingLeft();
});

test(`the engine is killed while ${execs} execs run (case 64)`, async () => {
  const engine = await startOwnEngine();
  try {
    await start({ DOCKER_HOST: engine.dockerHost });
    const times = whole ? 3 : 1;
    const answers = await disturb('engine', times, seed + 1, async () => {
      await engine.kill();
      await engine.start();
    });
    say(`engine killed ${times} times`);
    await expectAccounted(answers, { reasons: /engine|could not be heard|log of the server/ });
    await expectNothingLeft(engine.dockerHost);
    // Nor one that the engine was making when it was killed, and knows nothing of.
    expect(await engine.stranded()).toEqual([]);
  } finally {
    await server?.end('SIGTERM');
    server = undefined;
    await engine.close();
  }
});

test(`the disk is filled while ${execs} execs run (cases 33, 65)`, async () => {
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
    const filler = join(disk.path, 'filler');
    const times = whole ? 5 : 1;
    const answers = await disturb('disk', times, seed + 2, async (random) => {
      await fillDisk(filler);
      await pause(random.between(200, 1500));
      await rm(filler);
    });
    say(`disk filled ${times} times`);
    const reasons = /disk|room|no space|ENOSPC|log of the server/i;
    await expectAccounted(answers, { reasons, losesFiles: true });
    await expectNothingLeft();
  } finally {
    await server?.end('SIGTERM');
    server = undefined;
    await disk.remove();
  }
});
