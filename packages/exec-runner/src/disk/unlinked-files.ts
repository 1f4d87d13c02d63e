import { readdir, readlink, stat } from 'node:fs/promises';
import { containerPaths } from '@secbox/container-engine';
import { deletedMappings, type ReadingBudget } from './deleted-mappings.js';

export type WritableFolder = 'work' | 'artifacts';

/** Past so many open files and mappings, or so much to read about them, the rest is left to the floor of free space. */
const most = { lines: 50_000, bytes: 16 * 1024 ** 2 };

/**
 * What files without a name take that processes hold open or mapped, by the folder they were in: no listing of the
 * folder shows them. One that travels between two processes in a socket is not seen here.
 */
export async function unlinkedBytes(pids: readonly string[]): Promise<Record<WritableFolder, number>> {
  const sum = { work: 0, artifacts: 0 };
  const seen = new Set<string>();
  for await (const file of filesOf(pids, { ...most })) {
    const found = await unlinkedAt(file).catch(() => undefined);
    if (!found || seen.has(found.identity)) continue;
    seen.add(found.identity);
    sum[found.folder] += found.bytes;
  }
  return sum;
}

/** What is open comes first, of all of them: every process has many mappings that are of no interest. */
async function* filesOf(pids: readonly string[], budget: ReadingBudget): AsyncGenerator<string> {
  for (const pid of pids) {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      if (budget.lines <= 0) return;
      budget.lines -= 1;
      yield `/proc/${pid}/fd/${fd}`;
    }
  }
  for (const pid of pids) {
    try {
      for await (const range of deletedMappings(`/proc/${pid}/maps`, budget))
        yield `/proc/${pid}/map_files/${range}`;
    } catch {
      // It has ended.
    }
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
