import autocannon from 'autocannon';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { compileService } from '../docker/setup/compile.mjs';
import { runCommand } from '../docker/setup/failure.mjs';
import { prepareAll } from '../docker/setup/prepare.mjs';
import { createProgress } from '../docker/setup/progress.mjs';
import { engineEnvironment } from '../docker/setup/serve.mjs';
import { repositoryRoot } from '../docker/setup/settings.mjs';
import { judgeLoad } from './load-targets.mjs';
import { readOptions, wholeNumber } from './options.mjs';
import { startService } from './service.mjs';
import { summarize } from './summary.mjs';
import { tell } from './verdicts.mjs';

const HELP = `Usage: npm run bench:load -- [--seconds N] [--rate N] [--workers N]

Asks a server of its own for 200 lists of execs a second, at a fixed rate, while
workers run execs in a loop, as a busy day does. Before that the same workers run
alone: that is what "idle" means in the ratio.

  --seconds N   how long the load lasts (60); alone it is a third of that
  --rate N      lists a second (200)
  --workers N   how many run execs in a loop (4)

It fails when fewer than 95 of 100 lists are answered, on any answer but a 2xx, on an
exec that fails, on more than 50 MB of memory gained after the first 10 seconds, and
when an exec takes more than twice as long as without the lists (p50 and p95). What
the event loop is late by is told.
`;

const MEBIBYTE = 1024 ** 2;
const SETTLE_SECONDS = 10;
/** One autocannon sends its share at the beginning of each second: so many, one after the other, spread it. */
const ASKERS = 20;

await runCommand(async (signal) => {
  const { values } = readOptions(() =>
    parseArgs({
      options: {
        seconds: { type: 'string', default: '60' },
        rate: { type: 'string', default: '200' },
        workers: { type: 'string', default: '4' },
        help: { type: 'boolean', short: 'h' },
      },
    }),
  );
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const seconds = wholeNumber('--seconds', values.seconds, SETTLE_SECONDS + 2);
  const rate = wholeNumber('--rate', values.rate, 1);
  const workers = wholeNumber('--workers', values.workers, 1);

  const progress = createProgress({ stream: process.stdout, env: process.env });
  const { endpoint } = await prepareAll({ env: process.env, signal, progress });
  await compileService({ root: repositoryRoot, env: process.env, signal, say: () => undefined });
  progress.close();

  const dataDir = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'secbox-load-')));
  const service = await startService({
    ...process.env,
    ...engineEnvironment(endpoint),
    SECBOX_DATA_DIR: dataDir,
    SECBOX_MAX_CONCURRENT_EXECS: String(workers),
    SECBOX_LOG_LEVEL: 'error',
  });
  try {
    // What is late because whoever asks waits for a processor is not the server's.
    takePrecedence();
    const { client } = service;
    await runExecs(client, workers, 3);
    const alone = await runExecs(client, workers, Math.ceil(seconds / 3));
    const [beside, lists, figures] = await Promise.all([
      runExecs(client, workers, seconds),
      askLists(client, rate, seconds),
      watchFigures(client, seconds),
    ]);
    return report({ alone, beside, lists, figures, seconds, rate, workers });
  } finally {
    await service.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
});

function takePrecedence() {
  try {
    os.setPriority(os.constants.priority.PRIORITY_HIGH);
  } catch {
    process.stdout.write('Only an administrator may give the asking process precedence: rates may suffer.\n');
  }
}

/** @typedef {import('./service.mjs').Client} Client */
/** @typedef {{ times: number[], failed: number }} Execs */
/** @typedef {{ residentBytes: number, lateSeconds: number }} Figures */

/**
 * So many workers, each of which sends its next exec when the last has been answered.
 *
 * @param {Client} client
 * @param {number} workers
 * @param {number} seconds
 * @returns {Promise<Execs>}
 */
async function runExecs(client, workers, seconds) {
  const end = performance.now() + seconds * 1000;
  /** @type {Execs} */
  const execs = { times: [], failed: 0 };
  const work = async (/** @type {number} */ worker) => {
    while (performance.now() < end) {
      const begun = performance.now();
      const response = await client.call('/sandbox/execs', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          project_id: `worker-${worker}`,
          exec: { kind: 'python', command: 'python', args: ['-c', 'print(6 * 7)'] },
        }),
      });
      const { status } = /** @type {{ status?: string }} */ (await response.json());
      if (status !== 'succeeded') execs.failed += 1;
      execs.times.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
  return execs;
}

/**
 * @param {Client} client
 * @param {number} rate
 * @param {number} seconds
 */
async function askLists({ url, headers }, rate, seconds) {
  const askers = Math.min(ASKERS, rate);
  const results = await Promise.all(
    Array.from({ length: askers }, async (_, asker) => {
      await sleep((asker * 1000) / askers);
      const share = Math.floor(rate / askers) + (asker < rate % askers ? 1 : 0);
      return autocannon({
        url: `${url}/sandbox/execs`,
        headers,
        connections: share,
        overallRate: share,
        duration: seconds,
      });
    }),
  );
  const sum = (/** @type {(result: autocannon.Result) => number} */ of) =>
    results.reduce((total, result) => total + of(result), 0);
  return {
    answered: sum((result) => result['2xx']),
    other: sum((result) => result.non2xx),
    failed: sum((result) => result['5xx']),
    broken: sum((result) => result.errors + result.timeouts),
    p50: sum((result) => result.latency.p50) / askers,
    p99: Math.max(...results.map((result) => result.latency.p99)),
  };
}

/**
 * What the server says of itself, every second.
 *
 * @param {Client} client
 * @param {number} seconds
 * @returns {Promise<Figures[]>}
 */
async function watchFigures(client, seconds) {
  /** @type {Figures[]} */
  const figures = [];
  for (let second = 0; second < seconds; second += 1) {
    await sleep(1000);
    const text = await (await client.call('/metrics')).text();
    const read = (/** @type {string} */ name) =>
      Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
    figures.push({
      residentBytes: read('process_resident_memory_bytes'),
      lateSeconds: read('nodejs_eventloop_lag_p99_seconds'),
    });
  }
  return figures;
}

/** @param {readonly Figures[]} figures */
function everyFifth(figures) {
  const megabytes = figures.map(({ residentBytes }) => (residentBytes / MEBIBYTE).toFixed(0));
  return megabytes.filter((_, second) => second % 5 === 4).join(', ');
}

/**
 * @param {{ alone: Execs, beside: Execs, lists: Awaited<ReturnType<typeof askLists>>, figures: Figures[],
 *   seconds: number, rate: number, workers: number }} seen
 * @returns {number} the exit code
 */
function report({ alone, beside, lists, figures, seconds, rate, workers }) {
  const settled = figures.slice(SETTLE_SECONDS).map(({ residentBytes }) => residentBytes / MEBIBYTE);
  const grownMb = Math.max(...settled) - (settled[0] ?? Number.NaN);
  const late = figures.map(({ lateSeconds }) => lateSeconds * 1000);
  const execs = {
    alone: summarize('execs without lists', alone.times),
    beside: summarize('execs beside lists', beside.times),
  };
  const answered = lists.answered / seconds;
  const failures = lists.other + lists.broken + alone.failed + beside.failed;
  const ms = (/** @type {number} */ value) => `${value.toFixed(0)} ms`;
  const row = (
    /** @type {import('./summary.mjs').Summary} */ { name, p50, p95 },
    /** @type {Execs} */ { times },
  ) => `${name.padEnd(22)} ${String(times.length).padStart(5)} execs   p50 ${ms(p50)}   p95 ${ms(p95)}`;
  process.stdout.write(`
${seconds} s, ${rate} lists/s, ${workers} workers
${row(execs.alone, alone)}
${row(execs.beside, beside)}
lists                  ${lists.answered} answered (${answered.toFixed(0)}/s)   p50 ${ms(lists.p50)}   p99 ${ms(lists.p99)}
not 2xx                ${lists.other}, of these 5xx ${lists.failed}; errors and timeouts ${lists.broken}; execs that failed ${alone.failed + beside.failed}
memory                 ${(settled[0] ?? 0).toFixed(0)} MB after ${SETTLE_SECONDS} s, at most ${Math.max(...settled).toFixed(0)} MB later; every 5 s: ${everyFifth(figures)}
event loop late, p99   ${ms(summarize('', late).p50)} in the middle second, ${ms(Math.max(...late))} in the worst
`);
  return tell(judgeLoad({ lists: { asked: rate, answered }, failures, grownMb, execs }));
}
