import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { openPrivateEngine } from '../../docker/setup/engine.mjs';
import { EngineApi } from '../../docker/setup/engine-api.mjs';
import {
  enginePaths,
  privateEngineAnswers,
  privateHost,
  runningPid,
  startPrivateEngine,
  stopPrivateEngine,
} from '../../docker/setup/private-engine.mjs';
import { commandLine, isAlive } from '../../docker/setup/process-identity.mjs';
import { mountsBelow } from '../../docker/setup/unmount.mjs';

jest.setTimeout(120_000);

/** A dockerd of one's own is for root on Linux; elsewhere the product uses the engine that is there. */
const onLinuxAsRoot = process.platform === 'linux' && process.getuid?.() === 0;
const signal = new AbortController().signal;
const at = { dataDir: '' };

beforeEach(async () => {
  at.dataDir = await mkdtemp(join(tmpdir(), 'e-'));
});
afterEach(async () => {
  await stopPrivateEngine(enginePaths(at.dataDir), { signal });
  await rm(at.dataDir, { recursive: true });
});

const env = () => ({ ...process.env, SECBOX_ENGINE: 'auto', SECBOX_DATA_DIR: at.dataDir });
const open = () => openPrivateEngine({ env: env(), dataDir: at.dataDir, signal, say: () => undefined });

async function command(verb: string): Promise<string> {
  const script = fileURLToPath(new URL('../../docker/setup/engine-command.mjs', import.meta.url));
  const child = spawn(process.execPath, [script, verb], { env: env(), stdio: ['ignore', 'pipe', 'inherit'] });
  const parts: Buffer[] = [];
  child.stdout.on('data', (part: Buffer) => parts.push(part));
  const [code] = (await once(child, 'close')) as [number];
  expect(code).toBe(0);
  return Buffer.concat(parts).toString('utf8');
}

async function processesOf(folder: string): Promise<string[]> {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => commandLine(Number(pid))));
  return lines
    .map((words) => words.join(' '))
    .filter((line) => line.includes(`${folder}/`) && /^\S*(dockerd|containerd)/.test(line));
}

async function gone(pid: number): Promise<void> {
  while ((await commandLine(pid)).length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
}

(onLinuxAsRoot ? describe : describe.skip)('the private engine', () => {
  test('starts, is used again, and stops without a trace but its data', async () => {
    const paths = enginePaths(at.dataDir);
    const first = await open();
    expect(first).toMatchObject({
      startedHere: true,
      endpoint: { host: privateHost(paths), source: 'private' },
    });
    const pid = await runningPid(paths);
    expect(await open()).toMatchObject({ startedHere: false });
    expect(await runningPid(paths)).toBe(pid);
    expect(await command('status')).toContain(`private engine: running, pid ${pid ?? ''}`);

    expect(await command('stop')).toContain('stopped');
    expect(await privateEngineAnswers(paths)).toBe(false);
    expect(await processesOf(at.dataDir)).toEqual([]);
    expect(mountsBelow(at.dataDir)).toEqual([]);
    expect(existsSync(paths.socket)).toBe(false);
    expect(existsSync(paths.dataRoot)).toBe(true);
    expect(await command('stop')).toContain('was not running');
    expect(await command('status')).toContain('private engine: stopped');
  });

  test('offers runsc where it is installed, and learns of another while it runs', async () => {
    const runscOf = async ({ api }: { api: EngineApi }) => {
      const { Runtimes } = (await api.call('GET', '/info')) as { Runtimes: Record<string, { path: string }> };
      return Runtimes['runsc']?.path;
    };
    const openWith = async (name: string) => {
      const folder = join(at.dataDir, name);
      await mkdir(folder);
      await writeFile(join(folder, 'runsc'), '#!/bin/sh\n', { mode: 0o755 });
      const PATH = `${folder}:${process.env['PATH'] ?? ''}`;
      return openPrivateEngine({
        env: { ...env(), PATH },
        dataDir: at.dataDir,
        signal,
        say: () => undefined,
      });
    };
    expect(await runscOf(await openWith('one'))).toBe(join(at.dataDir, 'one/runsc'));
    const pid = await runningPid(enginePaths(at.dataDir));
    expect(await runscOf(await openWith('other'))).toBe(join(at.dataDir, 'other/runsc'));
    expect(await runningPid(enginePaths(at.dataDir))).toBe(pid);
  });

  test('changes nothing of the host network', async () => {
    const { api } = await open();
    const networks = (await api.call('GET', '/networks')) as { Name: string }[];
    expect(networks.map(({ Name }) => Name).sort()).toEqual(['host', 'none']);
  });

  test('is started once by two starts at the same moment', async () => {
    const outputs = await Promise.all([command('start'), command('start')]);
    expect(outputs.filter((text) => text.includes(' started:'))).toHaveLength(1);
    expect(outputs.filter((text) => text.includes('runs already'))).toHaveLength(1);
    const dockerds = (await processesOf(at.dataDir)).filter((line) => line.includes('--data-root='));
    expect(dockerds).toHaveLength(1);
  });

  test('comes back with its data after kill -9', async () => {
    const paths = enginePaths(at.dataDir);
    const before = await open();
    await before.api.call('POST', '/volumes/create', { json: { Name: 'kept' } });
    const pid = await runningPid(paths);
    if (pid === undefined) throw new Error('no pid');
    process.kill(pid, 'SIGKILL');
    await gone(pid);
    expect(await readFile(paths.pidFile, 'utf8')).toContain(String(pid));

    const after = await open();
    expect(after.startedHere).toBe(true);
    expect(await after.api.call('GET', '/volumes/kept')).toMatchObject({ Name: 'kept' });
    const containerds = (await processesOf(at.dataDir)).filter((line) => line.startsWith('containerd'));
    expect(containerds).toHaveLength(1);
  });

  test('a pid file whose number belongs to another process now neither stops a start nor kills that process', async () => {
    const paths = enginePaths(at.dataDir);
    const stranger = spawn('sleep', ['600'], { stdio: 'ignore' });
    try {
      await mkdir(join(paths.execRoot, 'containerd'), { recursive: true });
      for (const file of [paths.pidFile, join(paths.execRoot, 'containerd', 'containerd.pid')]) {
        await writeFile(file, String(stranger.pid));
      }
      expect(await runningPid(paths)).toBeUndefined();
      expect(await stopPrivateEngine(paths, { signal })).toBe(false);
      await writeFile(paths.pidFile, String(stranger.pid));
      expect((await open()).startedHere).toBe(true);
      expect(isAlive(stranger.pid ?? 0)).toBe(true);
    } finally {
      stranger.kill();
      await once(stranger, 'exit');
    }
  });

  test('a data folder too deep for sockets gets them in a short one', async () => {
    const deep = join(at.dataDir, 'd'.repeat(80));
    const paths = enginePaths(deep);
    expect(paths.moved).toBe(true);
    expect(paths.socket).toMatch(/^\/run\/secbox-[0-9a-f]{12}\/docker\.sock$/);
    try {
      const { endpoint } = await openPrivateEngine({
        env: env(),
        dataDir: deep,
        signal,
        say: () => undefined,
      });
      expect((await new EngineApi(endpoint).ping(3_000)).answers).toBe(true);
    } finally {
      await stopPrivateEngine(paths, { signal });
    }
    expect(existsSync(paths.execRoot)).toBe(false);
  });

  test('an engine that dies shows the last lines of its log', async () => {
    const dockerd = join(at.dataDir, 'dockerd');
    await writeFile(dockerd, '#!/bin/sh\necho "failed to start: no cgroups" >&2\nexit 1\n', { mode: 0o755 });
    const start = startPrivateEngine(enginePaths(at.dataDir), {
      dockerd,
      env: process.env,
      signal,
      say: () => undefined,
    });
    await expect(start).rejects.toMatchObject({
      message: 'The private Docker engine did not start.',
      details: 'failed to start: no cgroups',
    });
  });

  test('SECBOX_ENGINE=external forbids it', async () => {
    const external = { ...process.env, SECBOX_ENGINE: 'external' };
    const start = openPrivateEngine({ env: external, dataDir: at.dataDir, signal, say: () => undefined });
    await expect(start).rejects.toThrow('SECBOX_ENGINE=external forbids');
    expect(existsSync(enginePaths(at.dataDir).root)).toBe(false);
  });
});
