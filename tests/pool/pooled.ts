import { containersOf, type ListedContainer } from '../exec/engine-view.js';

/** What makes a server start containers ahead. `npm test` compiles the program that this needs. */
export function pooled(size: number): Record<string, string> {
  const program = process.env['SECBOX_MOUNTS_PROGRAM'];
  if (program === undefined)
    throw new Error('SECBOX_MOUNTS_PROGRAM is not set; run the tests with npm test.');
  return { SECBOX_MOUNTS_PROGRAM: program, SECBOX_POOL_SIZE: String(size) };
}

export interface PoolHealth {
  readonly warm: boolean;
  readonly why?: string;
  readonly waiting?: number;
  readonly starting?: number;
  readonly taken_total?: number;
  readonly missed_total?: number;
}

export async function poolOf(url: string): Promise<PoolHealth> {
  const response = await fetch(`${url}/sandbox/health`);
  return ((await response.json()) as { readonly pool: PoolHealth }).pool;
}

/** Waits until so many wait and no more are on their way, as long as the test's own time limit. */
export async function poolHas(url: string, waiting: number): Promise<void> {
  for (;;) {
    const pool = await poolOf(url);
    if (pool.waiting === waiting && pool.starting === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The containers that were started ahead, whether they wait or have been taken. */
export async function pooledContainers(dataDir: string): Promise<ListedContainer[]> {
  return (await containersOf(dataDir)).filter(({ Labels }) => Labels['secbox'] === 'pool');
}
