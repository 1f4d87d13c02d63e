import { EngineApi } from '../../docker/setup/engine-api.mjs';

/** The engine as an operator sees it, beside the service: what it really runs. */
export interface ListedContainer {
  readonly Id: string;
  readonly State: string;
  readonly Labels: Readonly<Record<string, string>>;
}

const engine = (host = process.env['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock') =>
  new EngineApi({ host });
const filtersOf = (dataDir: string) => JSON.stringify({ label: [`secbox.data_dir=${dataDir}`] });

export async function containersOf(dataDir: string, host?: string): Promise<ListedContainer[]> {
  return (await engine(host).call('GET', '/containers/json', {
    query: { all: '1', filters: filtersOf(dataDir) },
  })) as ListedContainer[];
}

/** All that there are, whosever. */
export async function volumeNames(host?: string): Promise<readonly string[]> {
  const { Volumes } = (await engine(host).call('GET', '/volumes')) as {
    readonly Volumes: readonly { readonly Name: string }[] | null;
  };
  return (Volumes ?? []).map(({ Name }) => Name).sort();
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

/** Waits until no container of this data folder is left, but for those that wait ahead: removal follows the answer. */
export async function containersGone(dataDir: string): Promise<void> {
  for (;;) {
    const left = (await containersOf(dataDir)).filter(({ Labels }) => Labels['secbox'] !== 'pool');
    if (left.length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
