import { afterAll, afterEach, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import type { ExecAnswer } from '@secbox/contracts';
import type { Account } from '@secbox/exec-runner';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { mountsBelow } from '../../docker/setup/unmount.mjs';
import { fillDisk, makeSmallDisk } from '../disk/small-disk.js';
import { containersOf, volumeNames, type ListedContainer } from '../exec/engine-view.js';
import { startOwnEngine, type OwnEngine } from '../exec/own-engine.js';
import { startServer } from '../lifecycle/server-process.js';
import { pooled, type PoolHealth } from '../pool/pooled.js';
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

/** Nobody else makes anything in it. */
let engine: OwnEngine;
let volumes: readonly string[];
let dataDir: string;
let server: Awaited<ReturnType<typeof startServer>> | undefined;
beforeAll(async () => {
  engine = await startOwnEngine();
});
afterAll(() => engine.close());
beforeEach(async () => {
  volumes = await volumeNames(engine.dockerHost);
  dataDir = await mkdtemp(join(tmpdir(), 'sbc-'));
});
afterEach(async () => {
  await server?.end('SIGTERM');
  server = undefined;
  await rm(dataDir, { recursive: true, force: true });
});

const start = async () => {
  server = await startServer({
    DOCKER_HOST: engine.dockerHost,
    SECBOX_DATA_DIR: dataDir,
    SECBOX_LOG_LEVEL: 'warn',
    SECBOX_SHUTDOWN_GRACE_MS: '0',
    ...pooled(4),
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
  /** Why an exec may have ended before its time, in the words of its row, or of the log where the row refers to that. */
  readonly reasons: RegExp;
  /** On a host's disk that is full to the last byte, files of a project may be lost, and output that says so. */
  readonly diskFills?: boolean;
}

/** Every exec is over, for a reason that can be; what never started did not end as if it had; nothing ran twice. */
async function expectAccounted(
  answers: readonly ExecAnswer[],
  { reasons, diskFills = false }: Expected,
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
    truncated: answer.stdout_truncated,
    stderr: answer.stderr,
    reason: reasonOf(answer),
  }));
  const wrong = seen.filter(({ file, ran, status, started, stdout, truncated, reason }) => {
    const isCut = diskFills && truncated && `${file}\n`.startsWith(stdout);
    if (status === 'succeeded')
      return ran > 1 || (ran === 0 && !diskFills) || (stdout !== `${file}\n` && !isCut);
    return started === null || ran > 1 || !reasons.test(reason);
  });
  expect(wrong).toEqual([]);
  const count = (status: string) => answers.filter((answer) => answer.status === status).length;
  say(`  ${count('succeeded')} succeeded, ${answers.length - count('succeeded')} were interrupted`);
}

/** An internal fault is told in the log only; there it must be one that the trouble can explain. */
function reasonOf({ exec_id: execId, error_reason: reason }: ExecAnswer): string {
  if (!reason?.includes('the log of the server')) return reason ?? '';
  const lines = server?.printed().split('\n') ?? [];
  const line = lines.find((each) => each.includes('"event":"exec.error"') && each.includes(execId));
  return line === undefined ? reason : rootOf((JSON.parse(line) as { readonly error: Logged }).error);
}

interface Logged {
  readonly message: string;
  readonly cause?: Logged;
}

function rootOf({ message, cause }: Logged): string {
  return cause ? rootOf(cause) : message;
}

/** So soon must all be as it was, and without the sweep, which comes every 30 seconds. */
const settlesMs = 20_000;

/**
 * While the server still runs: one that stops removes whatever it finds. An engine that was killed may have been making
 * containers, for execs and for the pool, of which nobody was told; only a sweep can find these.
 */
async function expectSettled({ engineKilled = false } = {}): Promise<void> {
  const deadline = Date.now() + settlesMs;
  for (;;) {
    const { account, pool } = await health();
    const containers = await containersOf(dataDir, engine.dockerHost);
    // Where the engine died while the pool started one, its dead container is nobody's; one that was taken runs.
    const counted = ({ State, Labels }: ListedContainer) =>
      !engineKilled || State === 'running' || (State !== 'created' && Labels['secbox'] !== 'pool');
    const left = containers.filter(counted).length - (pool.waiting ?? 0);
    if ((left !== 0 || !account.listening) && Date.now() < deadline) {
      await pause(100);
      continue;
    }
    expect({ left, ...account }).toMatchObject({ left: 0, listening: true, unaccounted_total: 0 });
    if (!engineKilled) expect(server?.printed()).not.toContain('sweep.container_removed');
    return;
  }
}

async function health() {
  const answer = await fetch(`${url()}/sandbox/health`);
  return (await answer.json()) as { readonly account: Account; readonly pool: PoolHealth };
}

async function expectNothingLeft(): Promise<void> {
  await server?.end('SIGTERM');
  expect(await containersOf(dataDir, engine.dockerHost)).toEqual([]);
  expect(await volumeNames(engine.dockerHost)).toEqual(volumes);
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
  await expectSettled();
  await expectNothingLeft();
});

test(`the engine is killed while ${execs} execs run (case 64)`, async () => {
  await start();
  const times = whole ? 3 : 1;
  const answers = await disturb('engine', times, seed + 1, async () => {
    await engine.kill();
    await engine.start();
  });
  say(`engine killed ${times} times`);
  // In our words, in those of the init's stream, or in its own while it ends and begins.
  const reasons = /engine|could not be heard|^Init ended without its last frame|ECONNRESET|HTTP code 500/;
  await expectAccounted(answers, { reasons });
  await expectSettled({ engineKilled: true });
  await expectNothingLeft();
  // Nor one that the engine was making when it was killed, and knows nothing of.
  expect(await engine.stranded()).toEqual([]);
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
    await expectAccounted(answers, { reasons: /disk|room|no space|ENOSPC/i, diskFills: true });
    await expectSettled();
    await expectNothingLeft();
  } finally {
    await server?.end('SIGTERM');
    server = undefined;
    await disk.remove();
  }
});
