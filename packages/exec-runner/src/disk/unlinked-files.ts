import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { containerPaths } from '@secbox/container-engine';

export type WritableFolder = 'work' | 'artifacts';

/** Past so many open files the rest is left to the floor of free space. */
const mostFiles = 50_000;

/**
 * What files without a name take that processes hold open or mapped, by the folder they were in: no listing of the
 * folder shows them. One that travels between two processes in a socket is not seen here.
 */
export async function unlinkedBytes(pids: readonly string[]): Promise<Record<WritableFolder, number>> {
  const sum = { work: 0, artifacts: 0 };
  const seen = new Set<string>();
  let left = mostFiles;
  for (const pid of pids) {
    for await (const file of filesOf(pid)) {
      left -= 1;
      if (left < 0) return sum;
      const found = await unlinkedAt(file).catch(() => undefined);
      if (!found || seen.has(found.identity)) continue;
      seen.add(found.identity);
      sum[found.folder] += found.bytes;
    }
  }
  return sum;
}

async function* filesOf(pid: string): AsyncGenerator<string> {
  for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) yield `/proc/${pid}/fd/${fd}`;
  const maps = await readFile(`/proc/${pid}/maps`, 'utf8').catch(() => '');
  for (const line of maps.split('\n')) {
    const [, from, to] = /^0*([0-9a-f]+)-0*([0-9a-f]+) .* \(deleted\)$/.exec(line) ?? [];
    if (from !== undefined && to !== undefined) yield `/proc/${pid}/map_files/${from}-${to}`;
  }
}

/** Looks at the file behind such a link without opening it. */
async function unlinkedAt(link: string) {
  const path = await readlink(link);
  const folder = (['work', 'artifacts'] as const).find((name) => path.startsWith(`${containerPaths[name]}/`));
  if (folder === undefined) return undefined;
  const stats = await stat(link);
  if (!stats.isFile() || stats.nlink > 0) return undefined;
  return { identity: `${stats.dev}:${stats.ino}`, folder, bytes: stats.blocks * 512 };
}
