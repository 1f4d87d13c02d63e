import { writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { EngineApi } from '../../docker/setup/engine-api.mjs';
import { engineConfig } from '../../docker/setup/runsc.mjs';
import { startOwnEngine } from '../exec/own-engine.js';

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

export async function startEngineWithRunsc(): Promise<EngineWithRunsc> {
  const { runtimes: runsc } = JSON.parse(engineConfig(process.env)) as { runtimes: Runtimes };
  if (!('runsc' in runsc))
    throw new Error('runsc is not installed: npm run engine:runsc, or apt-get install runsc');
  const engine = await startOwnEngine();
  return {
    dockerHost: engine.dockerHost,
    runsc,
    offer: async (runtimes) => {
      await writeFile(engine.paths.config, JSON.stringify({ runtimes }));
      process.kill(await engine.pid(), 'SIGHUP');
      const wanted = ['runc', ...Object.keys(runtimes)].sort().join();
      while ((await offered(engine.dockerHost)) !== wanted) await pause(20);
    },
    close: () => engine.close(),
  };
}

async function offered(host: string): Promise<string> {
  const info = (await new EngineApi({ host }).call('GET', '/info')) as { Runtimes: object };
  return Object.keys(info.Runtimes)
    .filter((name) => !name.startsWith('io.containerd.'))
    .sort()
    .join();
}
