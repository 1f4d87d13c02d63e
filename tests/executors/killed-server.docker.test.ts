import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ExecAnswer } from '@secbox/contracts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer, type ServerProcess } from '../lifecycle/server-process.js';
import { begin, get, spoolOf, untilAssessed, withSubprocess } from './subprocess-service.js';

let dataDir: string;
let servers: ServerProcess[];
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'secbox-killed-server-'));
  servers = [];
});
afterEach(async () => {
  for (const server of servers) if (server.child.exitCode === null) await server.end('SIGTERM');
  await rm(dataDir, { recursive: true, force: true });
});

async function serve(more: Record<string, string> = {}) {
  const server = await startServer({ SECBOX_DATA_DIR: dataDir, ...withSubprocess(), ...more });
  servers.push(server);
  await untilAssessed(server.url);
  return server;
}

interface Recorded {
  readonly pid: number;
  readonly startTime: string;
}
const recordOf = (execId: string) => join(spoolOf(dataDir, execId), 'subprocess.json');
const recorded = async (execId: string) => JSON.parse(await readFile(recordOf(execId), 'utf8')) as Recorded[];

/** Whether a process with these words in its command line is there. */
async function isRunning(words: string): Promise<boolean> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (line.replaceAll('\0', ' ').includes(words)) return true;
  }
  return false;
}

async function untilGone(words: string): Promise<void> {
  while (await isRunning(words)) await new Promise((resolve) => setTimeout(resolve, 20));
}

test('a server that is killed takes its processes along, and the next one ends their rows', async () => {
  const server = await serve();
  // Nobody else on this host sleeps for so long.
  const [first, second] = ['sleep 86397.25', 'sleep 86398.25'];
  const id = await begin(server.url, dataDir, `echo up; setsid ${first} & ${second}`);
  expect(await get<ExecAnswer>(server.url, `/sandbox/execs/${id}`)).toMatchObject({
    sandbox_type: 'subprocess',
  });
  expect(await isRunning(first)).toBe(true);
  expect(await recorded(id)).toHaveLength(2);
  await server.end('SIGKILL');
  await untilGone(first);
  await untilGone(second);

  const next = await serve();
  expect(await get<ExecAnswer>(next.url, `/sandbox/execs/${id}`)).toMatchObject({
    status: 'error',
    sandbox_type: 'subprocess',
    error_reason: expect.stringMatching(/^interrupted/),
  });
});

test('what outlived its server is ended before anything goes on; who only has its pid by now is not', async () => {
  const server = await serve();
  const id = await begin(server.url, dataDir, 'echo up; sleep 86399.25');
  const [launcher] = await recorded(id);
  await server.end('SIGKILL');
  await untilGone('sleep 86399.25');

  const survivor = spawn('sleep', ['300'], { stdio: 'ignore' });
  const stranger = spawn('sleep', ['300'], { stdio: 'ignore' });
  try {
    await Promise.all([once(survivor, 'spawn'), once(stranger, 'spawn')]);
    const startTime = async (pid = 0) => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
      return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    };
    const processes = [
      { ...launcher, pid: survivor.pid, startTime: await startTime(survivor.pid) },
      // Given to somebody else since.
      { ...launcher, pid: stranger.pid, startTime: '1' },
    ];
    await writeFile(recordOf(id), JSON.stringify(processes));
    const ended = once(survivor, 'exit');
    const next = await serve();
    expect(await ended).toEqual([null, 'SIGKILL']);
    expect(stranger.exitCode).toBeNull();
    expect(stranger.signalCode).toBeNull();
    expect(await get<ExecAnswer>(next.url, `/sandbox/execs/${id}`)).toMatchObject({ status: 'error' });
  } finally {
    survivor.kill('SIGKILL');
    stranger.kill('SIGKILL');
  }
});

test('the server comes before what it runs; a stop of it ends what runs', async () => {
  const server = await serve({ SECBOX_SHUTDOWN_GRACE_MS: '0' });
  const id = await begin(server.url, dataDir, 'echo up; sleep 86396.25');
  const [, init] = await recorded(id);
  const stat = await readFile(`/proc/${init?.pid}/stat`, 'utf8');
  expect(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]).toBe('0');
  expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(await isRunning('sleep 86396.25')).toBe(false);
});
