import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPrivateEngine } from '../../docker/setup/engine.mjs';
import { enginePaths, runningPid, stopPrivateEngine } from '../../docker/setup/private-engine.mjs';

/** An engine of the tests' own, with the sandbox image in it: nobody else notices what happens to it. */
export interface OwnEngine {
  readonly dockerHost: string;
  readonly paths: ReturnType<typeof enginePaths>;
  pid(): Promise<number>;
  /** `kill -9` of dockerd. */
  kill(): Promise<void>;
  /** Brings it up again on what it left. */
  start(): Promise<void>;
  close(): Promise<void>;
}

const signal = new AbortController().signal;

export async function startOwnEngine(): Promise<OwnEngine> {
  const imagesFrom = process.env['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock';
  const dataDir = await realpath(await mkdtemp(join(tmpdir(), 'r-')));
  const paths = enginePaths(dataDir);
  const env = { ...process.env, SECBOX_ENGINE: 'auto' };
  const open = () => openPrivateEngine({ env, dataDir, signal, say: () => undefined });
  const pid = async () => {
    const running = await runningPid(paths);
    if (running === undefined) throw new Error('The engine does not run.');
    return running;
  };
  const close = async () => {
    await stopPrivateEngine(paths, { signal });
    await endShims(paths.execRoot);
    await rm(dataDir, { recursive: true });
  };
  try {
    const { endpoint } = await open();
    await copyImage('secbox/sandbox:latest', imagesFrom, endpoint.host);
    return {
      dockerHost: endpoint.host,
      paths,
      pid,
      kill: async () => {
        process.kill(await pid(), 'SIGKILL');
        while ((await runningPid(paths)) !== undefined) await new Promise((done) => setTimeout(done, 20));
      },
      start: async () => {
        await open();
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** An engine that was killed leaves behind who watched its containers. */
async function endShims(execRoot: string): Promise<void> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (!command.includes('containerd-shim') || !command.includes(`${execRoot}/`)) continue;
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It ended by itself.
    }
  }
}

async function copyImage(reference: string, from: string, to: string): Promise<void> {
  const save = spawn('docker', ['--host', from, 'save', reference], { stdio: ['ignore', 'pipe', 'inherit'] });
  const load = spawn('docker', ['--host', to, 'load', '--quiet'], { stdio: ['pipe', 'ignore', 'inherit'] });
  save.stdout.pipe(load.stdin);
  const codes = await Promise.all(
    [save, load].map(async (child) => (await once(child, 'close')) as [number]),
  );
  if (codes.some(([code]) => code !== 0)) throw new Error(`${reference} could not be copied to ${to}.`);
}
