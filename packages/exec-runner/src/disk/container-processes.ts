import { readdir, readFile } from 'node:fs/promises';
import type { ContainerId } from '@secbox/container-engine';
import type { ExecProcesses } from '../executors/executor.js';

/** The processes of a container. */
export class ContainerProcesses implements ExecProcesses {
  readonly #id: ContainerId;
  #list: string | undefined;

  constructor(id: ContainerId) {
    this.#id = id;
  }

  async pids(): Promise<string[]> {
    if (process.platform !== 'linux') return [];
    this.#list ??= await this.#findList();
    return this.#list === undefined ? [] : readList(this.#list);
  }

  /** The file in which the kernel lists them, of cgroup v1 or v2, found through the first process that names the container. */
  async #findList(): Promise<string | undefined> {
    for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
      const cgroups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
      if (!cgroups.includes(this.#id)) continue;
      for (const list of listsOf(cgroups)) if ((await readList(list)).includes(pid)) return list;
    }
    return undefined;
  }
}

function listsOf(cgroups: string): string[] {
  return cgroups.split('\n').flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(.+)$/.exec(line) ?? [];
    return path === undefined ? [] : [`/sys/fs/cgroup/${controllers ?? ''}${path}/cgroup.procs`];
  });
}

async function readList(list: string): Promise<string[]> {
  const text = await readFile(list, 'utf8').catch(() => '');
  return text.split('\n').filter((pid) => pid !== '');
}
