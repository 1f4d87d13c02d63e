import { ProgramError, runSystemProgram } from '@secbox/host-mounts';

export interface Usage {
  readonly bytes: number;
  readonly entries: number;
}

const nothing: Usage = { bytes: 0, entries: 0 };
const timeoutMs = 10_000;

/**
 * What a folder holds, measured by the system's `du`: it follows nothing, leaves the file system nowhere, comes to any
 * depth, and is not confused by a tree that changes under it. Windows has none, and there nothing is measured.
 */
export async function folderUsage(folder: string): Promise<Usage> {
  if (process.platform === 'win32') return nothing;
  const [kibibytes, entries] = await Promise.all([
    figureOf(['-skx', folder]),
    process.platform === 'linux' ? figureOf(['-sx', '--inodes', folder]) : 0,
  ]);
  return { bytes: kibibytes * 1024, entries };
}

async function figureOf(args: readonly string[]): Promise<number> {
  const printed = await runSystemProgram('du', args, timeoutMs).catch((error: unknown) => {
    // It tells its sum also where something vanished or may not be read.
    if (error instanceof ProgramError) return error.output;
    throw error;
  });
  return Number.parseInt(printed, 10) || 0;
}
