import { lstatSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { SecboxError } from '@secbox/contracts';
import { isErrno, type Owner } from './directory.js';

/** Only the last folder is made: a root whose parent is missing is more likely a mistake than a wish. */
export async function makeRoot(root: string, mode: number): Promise<void> {
  try {
    await mkdir(root, { mode });
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return;
    const why = error instanceof Error ? error.message : String(error);
    throw new SecboxError('invalid_setting', `The workspace root ${root} cannot be made: ${why}.`, {
      details: { setting: 'sandbox.workspace_root' },
      cause: error,
    });
  }
}

/** Whether it is a folder, of this mode and owner. */
export function isAsMade(path: string, mode: number, owner?: Owner): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory() !== true || (stats.mode & 0o7777) !== mode) return false;
  return owner === undefined || (stats.uid === owner.uid && stats.gid === owner.gid);
}
