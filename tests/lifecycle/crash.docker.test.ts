import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ExecAnswer } from '@secbox/contracts';
import { execFile } from 'node:child_process';
import { access, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { containersOf, runningContainer } from '../exec/engine-view.js';
import { startRunningService } from '../exec/running-service.js';
import { startServer } from './server-process.js';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'secbox-crash-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

const post = async (url: string, script: string, more: object = {}) => {
  const response = await fetch(`${url}/sandbox/execs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', prefer: 'respond-async' },
    body: JSON.stringify({
      project_id: 'p',
      exec: { kind: 'shell', command: 'bash', args: ['-lc', script], ...more },
    }),
  });
  return ((await response.json()) as ExecAnswer).exec_id;
};

const finished = async (url: string, execId: string) => {
  for (;;) {
    const answer = (await (await fetch(`${url}/sandbox/execs/${execId}`)).json()) as ExecAnswer;
    if (answer.ended_at !== null) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

const canary = 'canary-4f1d7c';

/** One exec that runs, and one that waits behind it with a secret in its environment and on its stdin. */
async function oneRunsOneWaits(url: string): Promise<readonly [running: string, waiting: string]> {
  const running = await post(url, 'echo ran >> first; sleep 250');
  await runningContainer(dataDir);
  const waiting = await post(url, 'echo ran >> second; echo "$SECRET"; cat', {
    env: { SECRET: canary },
    stdin: `${canary}-stdin`,
  });
  return [running, waiting];
}

const grepDataDir = () =>
  promisify(execFile)('grep', ['-rlF', canary, dataDir]).then(
    ({ stdout }) => stdout,
    () => '',
  );

test.each(['SIGKILL', 'SIGTERM'] as const)(
  '%s: what never started is run by the next server, once; its secrets wait unreadably (cases 63, 67)',
  async (signal) => {
    const server = await startServer({
      SECBOX_DATA_DIR: dataDir,
      SECBOX_MAX_CONCURRENT_EXECS: '1',
      SECBOX_SHUTDOWN_GRACE_MS: '100',
    });
    const [running, waiting] = await oneRunsOneWaits(server.url);
    await server.end(signal);
    expect(await readdir(join(dataDir, 'workspace/spool'))).toContain(waiting);
    expect(await grepDataDir()).toBe('');

    const next = await startRunningService({}, dataDir);
    try {
      expect(await finished(next.url, running)).toMatchObject({ status: 'error' });
      expect(await finished(next.url, waiting)).toMatchObject({
        status: 'succeeded',
        stdout: `${canary}\n${canary}-stdin`,
      });
      const work = join(dataDir, 'workspace/projects/p/work');
      expect(await readFile(join(work, 'second'), 'utf8')).toBe('ran\n');
      expect(await readFile(join(work, 'first'), 'utf8')).toBe('ran\n');
    } finally {
      await next.stop();
    }
    expect(await readdir(join(dataDir, 'workspace/spool'))).toEqual([]);
  },
);

test('a waiting exec that was cancelled, but whose end the database did not take, is not run', async () => {
  const server = await startServer({ SECBOX_DATA_DIR: dataDir, SECBOX_MAX_CONCURRENT_EXECS: '1' });
  const [, waiting] = await oneRunsOneWaits(server.url);
  await server.end('SIGKILL');
  // As the server leaves it when it is killed before its database takes the end.
  const end = {
    ...{
      status: 'cancelled',
      exit_code: null,
      signal: null,
      oom: false,
      error_reason: 'cancelled by a caller',
    },
    ...{ ended_at: new Date().toISOString(), duration_ms: null, cpu_ms: null, peak_memory_bytes: null },
    ...{ stdout_truncated: false, stderr_truncated: false, artifacts_truncated: false },
  };
  await writeFile(join(dataDir, 'workspace/spool', waiting, 'end.json'), JSON.stringify(end));

  const next = await startRunningService({}, dataDir);
  try {
    expect(await finished(next.url, waiting)).toMatchObject({ status: 'cancelled', started_at: null });
    await expect(access(join(dataDir, 'workspace/projects/p/work/second'))).rejects.toThrow();
  } finally {
    await next.stop();
  }
});

test('a waiting exec whose plan was changed on disk is not run', async () => {
  const server = await startServer({
    SECBOX_DATA_DIR: dataDir,
    SECBOX_MAX_CONCURRENT_EXECS: '1',
  });
  const [, waiting] = await oneRunsOneWaits(server.url);
  await server.end('SIGKILL');
  const plan = join(dataDir, 'workspace/spool', waiting, 'plan.sealed');
  const sealed = await readFile(plan);
  sealed.writeUInt8(sealed.readUInt8(40) ^ 1, 40);
  await writeFile(plan, sealed);

  const next = await startRunningService({}, dataDir);
  try {
    expect(await finished(next.url, waiting)).toMatchObject({ status: 'error', started_at: null });
    await expect(access(join(dataDir, 'workspace/projects/p/work/second'))).rejects.toThrow();
  } finally {
    await next.stop();
  }
});

test('kill -9 mid-exec: the next start removes the container and ends the row with a reason (case 63)', async () => {
  const server = await startServer({ SECBOX_DATA_DIR: dataDir });
  const body = {
    project_id: 'p',
    exec: { kind: 'shell', command: 'bash', args: ['-lc', 'sleep 250'] },
  };
  const lost = fetch(`${server.url}/sandbox/execs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).catch(() => undefined);
  const container = await runningContainer(dataDir);
  const execId = container.Labels['secbox.exec_id'] ?? '';
  expect(await server.end('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
  await lost;

  const next = await startRunningService({}, dataDir);
  try {
    expect(await containersOf(dataDir)).toEqual([]);
    const row: unknown = await (await fetch(`${next.url}/sandbox/execs/${execId}`)).json();
    expect(row).toMatchObject({
      status: 'error',
      error_reason: 'interrupted: the server ended while this exec was under way',
      exit_code: null,
    });
    expect(await readdir(join(dataDir, 'workspace/spool'))).toEqual([]);
    expect((await next.shell('echo on')).stdout).toBe('on\n');
  } finally {
    await next.stop();
  }
});
