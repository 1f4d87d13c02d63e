import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
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
