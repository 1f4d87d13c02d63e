import { existsSync, mkdirSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Directory, within } from '@secbox/workspace';
import { makeImage, sizeFor, type Owner } from './disk-image.js';
import { mountImage, unmount } from './mount-image.js';
import type { SpareImage } from './spare-image.js';
import { runSystemProgram } from './system-program.js';

/** A project's disk: where its image is kept, and where it is mounted. */
export interface DiskPlace {
  readonly folder: string;
  readonly mountPoint: string;
}

export function imageOf({ folder }: DiskPlace): string {
  return join(folder, 'disk.img');
}

/**
 * Makes the image of a disk that has none, with what its plain folder held so far. The image is filled aside; then the
 * plain folder is set aside, which says that the image is whole, and the image takes its place. Whoever comes after a
 * crash goes on from where that was.
 */
export async function makeDisk(
  place: DiskPlace,
  bytes: number,
  owner: Owner,
  spare?: Pick<SpareImage, 'take'>,
): Promise<void> {
  const image = imageOf(place);
  const filled = join(place.folder, 'filled.img');
  const setAside = join(place.folder, setAsideName);
  if (!existsSync(setAside)) {
    if (existsSync(image)) return;
    mkdirSync(place.folder, { recursive: true, mode: 0o700 });
    if (await isEmpty(place.mountPoint)) {
      if (!(await spare?.take(bytes, image))) await makeImage(image, bytes, owner);
      return;
    }
    await fill(place, filled, bytes, owner);
    await rename(place.mountPoint, setAside);
  }
  if (!existsSync(image)) await rename(filled, image);
  await mkdir(place.mountPoint, { recursive: true, mode: 0o755 });
  await within(Directory.open(place.folder), (folder) => folder.remove(setAsideName));
}

const setAsideName = 'set-aside';

async function isEmpty(path: string): Promise<boolean> {
  return within(Directory.open(path), async (folder) => {
    for await (const _ of folder.names()) return false;
    return true;
  });
}

async function fill(place: DiskPlace, image: string, bytes: number, owner: Owner): Promise<void> {
  const staging = join(place.folder, 'staging');
  await rm(image, { force: true });
  await mkdir(staging, { recursive: true, mode: 0o700 });
  await makeImage(image, Math.max(bytes, await neededFor(place.mountPoint)), owner);
  await mountImage(image, staging, owner);
  try {
    await runSystemProgram('cp', ['-a', '--one-file-system', `${place.mountPoint}/.`, staging], copyMs);
    await runSystemProgram('sync', ['-f', staging], copyMs);
  } finally {
    await unmount(staging);
  }
}

const copyMs = 30 * 60_000;

async function neededFor(folder: string): Promise<number> {
  const figure = async (...options: string[]) =>
    Number.parseInt(await runSystemProgram('du', ['-s', '-x', ...options, '--', folder], copyMs), 10);
  return sizeFor(await figure('-B1'), await figure('--inodes'));
}
