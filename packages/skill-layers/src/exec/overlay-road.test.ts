import { link, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { LayerStores } from '../store/layer-stores.js';
import { emptyTree } from '../tree/tree.js';
import { OverlayRoad } from './overlay-road.js';

const none = () => Promise.resolve();
const base = { skill: { tree: emptyTree, locate: (path: string) => path }, lowers: [] };

let folder: string;
let places: { readonly folder: string; readonly room: string };
let road: OverlayRoad;
let target: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-road-'));
  places = { folder: join(folder, 'exec'), room: join(folder, 'exec') };
  await mkdir(places.folder);
  const limits = { entries: 100, bytes: 1e6, skillBytes: 1e6 };
  // Nothing is mounted: what the kernel would show is put there by hand.
  road = new OverlayRoad(new LayerStores({ root: folder }), { overlay: none, unmount: none }, limits);
  target = await road.begin(places, base);
});
afterEach(() => rm(folder, { recursive: true }));

/** Links cost a program neither room nor inodes: there may be millions of them. */
async function showNames(count: number): Promise<void> {
  await writeFile(join(places.room, 'upper', 'f0'), 'x');
  await writeFile(join(target, 'f0'), 'x');
  for (let n = 1; n < count; n += 1) await link(join(target, 'f0'), join(target, `f${n}`));
}

test('the names of a folder are counted while they are read, not when all of them are in memory', async () => {
  await showNames(101);
  await expect(road.collect(places, base, target)).rejects.toMatchObject({ code: 'file_too_large' });
});

test('as many as are allowed are read', async () => {
  await showNames(100);
  const { tree } = await road.collect(places, base, target);
  expect([...tree.files.keys()]).toEqual(['f0']);
});

test('and no more of them once it has taken too long', async () => {
  await showNames(2);
  await expect(road.collect(places, base, target, AbortSignal.abort(new Error('late')))).rejects.toThrow(
    'late',
  );
});
