import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** What a server makes, fills and removes for itself, at times of its own. */
const itsOwn = /^workspace\/(self-test|spare-disk)/;

/** Every path in a data folder, sorted, but for what comes and goes whatever callers do. */
export async function pathsIn(dataDir: string): Promise<string[]> {
  return (await below(dataDir, '')).filter((path) => !itsOwn.test(path)).sort();
}

async function below(folder: string, path: string): Promise<string[]> {
  const entries = await readdir(join(folder, path), { withFileTypes: true }).catch(unlessGone);
  const found = entries.map(async (entry) => {
    const own = join(path, entry.name);
    return entry.isDirectory() ? [own, ...(await below(folder, own))] : [own];
  });
  return (await Promise.all(found)).flat();
}

function unlessGone(error: NodeJS.ErrnoException): never[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}
