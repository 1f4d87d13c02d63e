import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openPrivateEngine } from '../../docker/setup/engine.mjs';
import { EngineApi } from '../../docker/setup/engine-api.mjs';
import { enginePaths, runningPid, stopPrivateEngine } from '../../docker/setup/private-engine.mjs';
import { engineConfig } from '../../docker/setup/runsc.mjs';

export type Runtimes = Readonly<
  Record<string, { readonly path: string; readonly runtimeArgs?: readonly string[] }>
>;

/** An engine of the tests' own, whose runtimes come and go without anyone else noticing. */
export interface EngineWithRunsc {
  readonly dockerHost: string;
  /** As set-up offers it. */
  readonly runsc: Runtimes;
  /** Makes the engine offer these beside runc, and no others. */
  offer(runtimes: Runtimes): Promise<void>;
  close(): Promise<void>;
}

const signal = new AbortController().signal;

export async function startEngineWithRunsc(): Promise<EngineWithRunsc> {
  const { runtimes: runsc } = JSON.parse(engineConfig(process.env)) as { runtimes: Runtimes };
  if (!('runsc' in runsc))
    throw new Error('runsc is not installed: npm run engine:runsc, or apt-get install runsc');
  const imagesFrom = process.env['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock';
  const dataDir = await realpath(await mkdtemp(join(tmpdir(), 'r-')));
  const paths = enginePaths(dataDir);
  const close = async () => {
    await stopPrivateEngine(paths, { signal });
    await rm(dataDir, { recursive: true });
  };
  try {
    const env = { ...process.env, SECBOX_ENGINE: 'auto' };
    const { endpoint } = await openPrivateEngine({ env, dataDir, signal, say: () => undefined });
    await copyImage('secbox/sandbox:latest', imagesFrom, endpoint.host);
    return {
      dockerHost: endpoint.host,
      runsc,
      offer: async (runtimes) => {
        await writeFile(paths.config, JSON.stringify({ runtimes }));
        process.kill((await runningPid(paths)) ?? 0, 'SIGHUP');
        const wanted = ['runc', ...Object.keys(runtimes)].sort().join();
        while ((await offered(endpoint.host)) !== wanted) await pause(20);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function offered(host: string): Promise<string> {
  const info = (await new EngineApi({ host }).call('GET', '/info')) as { Runtimes: object };
  return Object.keys(info.Runtimes)
    .filter((name) => !name.startsWith('io.containerd.'))
    .sort()
    .join();
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
