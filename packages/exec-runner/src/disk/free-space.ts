import { statfsSync } from 'node:fs';

export interface FreeSpace {
  readonly bytes: number;
  readonly totalBytes: number;
  /** Of all inodes, the part that is free; 1 where the file system makes them as it needs them. */
  readonly inodeShare: number;
}

/** Of the file systems that these folders are on, the one with the least left. */
export function freeSpace(folders: readonly string[]): FreeSpace {
  const spaces = folders.map(spaceOf);
  return {
    ...spaces.reduce((least, space) => (space.bytes < least.bytes ? space : least)),
    inodeShare: Math.min(...spaces.map(({ inodeShare }) => inodeShare)),
  };
}

function spaceOf(folder: string): FreeSpace {
  const { bavail, blocks, bsize, files, ffree } = statfsSync(folder);
  return {
    bytes: bavail * bsize,
    totalBytes: blocks * bsize,
    inodeShare: files === 0 ? 1 : ffree / files,
  };
}

/** What is in use of the file system that this folder is on. */
export function usedSpace(folder: string): number {
  const { blocks, bfree, bsize } = statfsSync(folder);
  return (blocks - bfree) * bsize;
}
