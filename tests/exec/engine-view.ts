import { EngineApi } from '../../docker/setup/engine-api.mjs';

/** The engine as an operator sees it, beside the service: what it really runs. */
export interface ListedContainer {
  readonly Id: string;
  readonly State: string;
  readonly Labels: Readonly<Record<string, string>>;
}

const engine = () => new EngineApi({ host: process.env['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock' });

export async function containersOf(dataDir: string): Promise<ListedContainer[]> {
  const filters = JSON.stringify({ label: [`secbox.data_dir=${dataDir}`] });
  return (await engine().call('GET', '/containers/json', {
    query: { all: '1', filters },
  })) as ListedContainer[];
}

export async function inspectContainer(id: string): Promise<Record<string, unknown>> {
  return (await engine().call('GET', `/containers/${id}/json`)) as Record<string, unknown>;
}

/** Waits for an exec's container of this data folder to run, as long as the test's own time limit. */
export async function runningContainer(dataDir: string): Promise<ListedContainer> {
  for (;;) {
    const running = (await containersOf(dataDir)).find(
      ({ State, Labels }) => State === 'running' && Labels['secbox'] === 'exec',
    );
    if (running) return running;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Waits until no container of this data folder is left: removal follows the answer. */
export async function containersGone(dataDir: string): Promise<void> {
  while ((await containersOf(dataDir)).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
}
