import { statfs } from 'node:fs/promises';

export interface FreeSpace {
  readonly bytes: number;
  readonly totalBytes: number;
  /** Of all inodes, the part that is free; 1 where the file system makes them as it needs them. */
  readonly inodeShare: number;
}

/** Of the file systems that these folders are on, the one with the least left. */
export async function freeSpace(folders: readonly string[]): Promise<FreeSpace> {
  const spaces = await Promise.all(folders.map(spaceOf));
  return {
    ...spaces.reduce((least, space) => (space.bytes < least.bytes ? space : least)),
    inodeShare: Math.min(...spaces.map(({ inodeShare }) => inodeShare)),
  };
}

async function spaceOf(folder: string): Promise<FreeSpace> {
  const { bavail, blocks, bsize, files, ffree } = await statfs(folder);
  return {
    bytes: bavail * bsize,
    totalBytes: blocks * bsize,
    inodeShare: files === 0 ? 1 : ffree / files,
  };
}

/** What is in use of the file system that this folder is on. */
export async function usedSpace(folder: string): Promise<number> {
  const { blocks, bfree, bsize } = await statfs(folder);
  return (blocks - bfree) * bsize;
}
