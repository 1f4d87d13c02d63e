import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, open, rm, truncate, writeFile, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system of its own, so small that filling it is cheap; it keeps nothing back for root. */
export interface SmallDisk {
  readonly path: string;
  remove(): Promise<void>;
}

export async function makeSmallDisk(bytes: number): Promise<SmallDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'secbox-disk-'));
  const image = join(folder, 'image');
  const path = join(folder, 'disk');
  await writeFile(image, '');
  await truncate(image, bytes);
  await mkdir(path);
  execFileSync('mkfs.ext4', ['-q', '-F', '-m', '0', image]);
  execFileSync('mount', ['-o', 'loop', image, path]);
  return {
    path,
    remove: async () => {
      // The kernel lets go of the images of disks that were mounted in it a moment after they are unmounted.
      while (spawnSync('umount', [path]).status !== 0)
        await new Promise((resolve) => setTimeout(resolve, 50));
      await rm(folder, { recursive: true });
    },
  };
}

/** To the last byte, with a file that gives it back when it is removed. */
export async function fillDisk(path: string): Promise<void> {
  const file = await open(path, 'w');
  try {
    // What the kernel kept back for the way to the blocks is free again once they have their place.
    for (const bytes of [4 * 1024 ** 2, 4096, 4096, 1, 1]) {
      await writeUntilFull(file, Buffer.alloc(bytes));
      await file.sync();
    }
  } finally {
    await file.close();
  }
}

async function writeUntilFull(file: FileHandle, block: Buffer): Promise<void> {
  try {
    for (;;) await file.write(block);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOSPC') throw error;
  }
}
