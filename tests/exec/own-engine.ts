import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openPrivateEngine } from '../../docker/setup/engine.mjs';
import { enginePaths, runningPid, stopPrivateEngine } from '../../docker/setup/private-engine.mjs';
import { strandedProcesses } from '../../docker/setup/stranded-containers.mjs';

/** An engine of the tests' own, with the sandbox image in it: nobody else notices what happens to it. */
export interface OwnEngine {
  readonly dockerHost: string;
  readonly paths: ReturnType<typeof enginePaths>;
  pid(): Promise<number>;
  /** `kill -9` of dockerd. */
  kill(): Promise<void>;
  /** Brings it up again on what it left. */
  start(): Promise<void>;
  /** Processes of containers, and of who watches them, that are still there ten seconds after there should be none. */
  stranded(): Promise<readonly number[]>;
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
        while ((await runningPid(paths)) !== undefined) await pause(20);
      },
      start: async () => {
        await open();
      },
      stranded: async () => {
        const deadline = Date.now() + 10_000;
        while (strandedProcesses(paths).length > 0 && Date.now() < deadline) await pause(50);
        return strandedProcesses(paths);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
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
