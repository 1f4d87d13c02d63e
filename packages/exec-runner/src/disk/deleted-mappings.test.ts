import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deletedMappings } from './deleted-mappings.js';

let folder: string;
let maps: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-maps-'));
  maps = join(folder, 'maps');
});
afterEach(() => rm(folder, { recursive: true }));

const kept = '7f0000001000-7f0000002000 r--p 00000000 08:01 1    /usr/lib/libc.so\n';
const deleted = '00400000-7f0000003000 rw-s 00000000 08:01 2    /work/a b (deleted)\n';

async function read(budget: { lines: number; bytes: number }): Promise<string[]> {
  const found: string[] = [];
  for await (const range of deletedMappings(maps, budget)) found.push(range);
  return found;
}

describe('the mappings of files without a name', () => {
  test('are found among others, also across what is read at once', async () => {
    const filler = kept.repeat(2000);
    await writeFile(maps, `${deleted}${filler}${deleted}${filler}${deleted}`);
    const budget = { lines: 5000, bytes: 1024 ** 2 };
    expect(await read(budget)).toEqual(Array(3).fill('400000-7f0000003000'));
    expect(budget.lines).toBe(997);
  });

  test('are looked for in so many lines only, whatever is in them', async () => {
    await writeFile(maps, kept.repeat(10) + deleted);
    const budget = { lines: 10, bytes: 1024 ** 2 };
    expect(await read(budget)).toEqual([]);
    expect(budget.lines).toBe(0);
    expect(await read({ lines: 11, bytes: 1024 ** 2 })).toHaveLength(1);
  });

  test('are looked for in so many bytes only, however long a line is', async () => {
    await writeFile(maps, 'x'.repeat(10 * 1024 ** 2));
    const budget = { lines: 10, bytes: 100_000 };
    expect(await read(budget)).toEqual([]);
    expect(budget).toEqual({ lines: 10, bytes: 0 });
    await writeFile(maps, deleted);
    expect(await read(budget)).toEqual([]);
  });

  test('of a process that has ended are not there to be read', async () => {
    await expect(read({ lines: 1, bytes: 1 })).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
