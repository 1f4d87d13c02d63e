import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { residentBytes } from '../lifecycle/process-figures.js';
import { startServer } from '../lifecycle/server-process.js';
import { pooled, poolHas, poolOf } from '../pool/pooled.js';
import { ExecClient } from './exec-client.js';
import { descriptorsOf, leftoversOf, nothing } from './leftovers.js';
import { runMixedLoad } from './mixed-load.js';

/** `npm run soak` sets these; in npm test a small run of always the same execs must do. */
const execs = Number(process.env['SOAK_EXECS'] ?? 60);
const seed = Number(process.env['SOAK_SEED'] ?? 1);
const atOnce = 8;
const say = (text: string) => {
  if (process.env['SOAK_EXECS'] !== undefined) process.stdout.write(`${text}\n`);
};

let dataDir: string;
let server: Awaited<ReturnType<typeof startServer>>;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'secbox-soak-'));
});
afterEach(async () => {
  await server.end('SIGTERM');
  await rm(dataDir, { recursive: true, force: true });
});

test.each([
  { how: 'each in a container that is made for it', pool: 0 },
  { how: 'in containers that wait', pool: 4 },
])(
  `${execs} execs of every kind, ${atOnce} at a time, seed ${seed}, $how: every answer is right, and nothing is left`,
  async ({ pool }) => {
    server = await startServer({
      SECBOX_DATA_DIR: dataDir,
      SECBOX_MAX_CONCURRENT_EXECS: String(atOnce),
      SECBOX_LOG_LEVEL: 'warn',
      ...(pool > 0 ? pooled(pool) : {}),
    });
    const pid = server.child.pid ?? 0;
    await new ExecClient(server.url).post({
      project_id: 'first',
      exec: { kind: 'shell', command: 'bash', args: ['-lc', 'true'] },
    });
    // The threads that answer questions are there once they were needed.
    await Promise.all(Array.from({ length: 20 }, () => fetch(`${server.url}/sandbox/execs`)));
    if (pool > 0) await poolHas(server.url, pool);
    const takenBefore = (await poolOf(server.url)).taken_total ?? 0;
    const descriptors = await descriptorsOf(pid);
    const memory = await residentBytes(pid);

    const report = await runMixedLoad({
      url: server.url,
      execs,
      atOnce,
      seed,
      onDone: (done) => {
        if (done % 50 === 0) say(`${done} of ${execs} done`);
      },
    });
    const { now, peak } = await residentBytes(pid);
    const mebibytes = (bytes: number) => Math.round(bytes / 1024 ** 2);
    say(
      [
        `seed ${seed}, ${pool} containers wait: ${execs} in ${report.seconds.toFixed(1)} s, ${(execs / report.seconds).toFixed(2)} a second`,
        ...Object.entries(report.kinds).map(([kind, count]) => `  ${kind} ${count}`),
        `resident: ${mebibytes(memory.now)} MB before, ${mebibytes(now)} MB after, ${mebibytes(peak)} MB at most`,
        ...report.failures,
      ].join('\n'),
    );
    expect(report.failures).toEqual([]);
    const taken = ((await poolOf(server.url)).taken_total ?? 0) - takenBefore;
    expect(taken > 0).toBe(pool > 0);
    expect(await leftoversOf({ pid, dataDir }, descriptors)).toEqual(nothing);
    expect(server.printed()).not.toMatch(/"level":"error"|Warning:/);
  },
  60_000 + execs * 3000,
);
