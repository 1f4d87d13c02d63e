import { ProgramError, runSystemProgram } from '@secbox/host-mounts';
import { isErrno } from '@secbox/workspace';
import { lstat } from 'node:fs/promises';

export interface Usage {
  readonly bytes: number;
  readonly entries: number;
}

/** Runs `du` and gives what it printed. */
export type Du = (args: readonly string[]) => Promise<string>;

const nothing: Usage = { bytes: 0, entries: 0 };
const timeoutMs = 10_000;

/** It complains about every name that vanishes under it, and whoever it measures can make those. */
const systemDu: Du = (args) => runSystemProgram('du', args, timeoutMs, 'dropped');

/**
 * What a folder holds, measured by the system's `du`: it follows nothing, leaves the file system nowhere, comes to any
 * depth, and is not confused by a tree that changes under it. Throws when it did not come to its end: what is not known
 * is not nothing. Windows has none, and there nothing is measured.
 */
export async function folderUsage(folder: string, du = systemDu): Promise<Usage> {
  if (process.platform === 'win32') return nothing;
  const [kibibytes, entries] = await Promise.all([
    figureOf(folder, du(['-skx', folder])),
    process.platform === 'linux' ? figureOf(folder, du(['-sx', '--inodes', folder])) : 0,
  ]);
  return { bytes: kibibytes * 1024, entries };
}

async function figureOf(folder: string, running: Promise<string>): Promise<number> {
  const printed = await running.catch((error: unknown) => {
    // It tells its sum also where something vanished or may not be read, but not when it was killed.
    if (error instanceof ProgramError && error.exitCode !== null) return error.output;
    throw error;
  });
  const figure = Number.parseInt(printed, 10);
  if (!Number.isNaN(figure)) return figure;
  if (await isGone(folder)) return 0;
  throw new Error('du told no sum');
}

async function isGone(folder: string): Promise<boolean> {
  try {
    await lstat(folder);
    return false;
  } catch (error) {
    return isErrno(error, 'ENOENT');
  }
}
