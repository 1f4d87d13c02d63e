import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { mountsBelow } from '../../docker/setup/unmount.mjs';
import { containersOf } from '../exec/engine-view.js';
import { openDescriptors } from '../lifecycle/process-figures.js';

export interface Leftovers {
  /** But for those that wait ahead. */
  readonly containers: readonly string[];
  /** Of projects, execs and slots; disks are kept for some seconds. */
  readonly mounts: readonly string[];
  readonly spools: readonly string[];
  /** Descriptors that were not open before, by what they lead to. */
  readonly descriptors: readonly string[];
}

export const nothing: Leftovers = { containers: [], mounts: [], spools: [], descriptors: [] };

/** Sockets and pipes have a number each, which says nothing about what they are. */
export async function descriptorsOf(pid: number): Promise<string[]> {
  return (await openDescriptors(pid)).map((target) => target.replace(/:\[\d+\]$/, ''));
}

/** What a server still holds when nothing runs. Connections that are kept for a while are given that while. */
export async function leftoversOf(
  server: { readonly pid: number; readonly dataDir: string },
  descriptorsBefore: readonly string[],
): Promise<Leftovers> {
  for (let tries = 0; ; tries += 1) {
    const left = {
      containers: (await containersOf(server.dataDir))
        .filter(({ Labels }) => Labels['secbox'] !== 'pool')
        .map(({ Id }) => Id),
      mounts: mountsBelow(server.dataDir).filter((path) => path !== join(server.dataDir, 'workspace/slots')),
      spools: await readdir(join(server.dataDir, 'workspace/spool')),
      descriptors: withoutEach(await descriptorsOf(server.pid), descriptorsBefore),
    };
    if (Object.values(left).every((list) => list.length === 0) || tries === 300) return left;
    await sleep(100);
  }
}

function withoutEach(list: readonly string[], taken: readonly string[]): string[] {
  const left = [...list];
  for (const item of taken) {
    const at = left.indexOf(item);
    if (at >= 0) left.splice(at, 1);
  }
  return left;
}
