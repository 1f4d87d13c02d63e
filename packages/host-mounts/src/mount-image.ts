import { chmod, chown, lstat, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isErrno } from '@secbox/workspace';
import type { Owner } from './disk-image.js';
import { ProgramError, runSystemProgram } from './system-program.js';

/** `discard` gives the space of removed files back to the host. */
const mountOptions = 'loop,nosuid,nodev,noatime,discard,errors=remount-ro';

/** Mounts an image. One that a dying container still holds becomes the same file system, not a second one. */
export async function mountImage(image: string, mountPoint: string, owner: Owner): Promise<void> {
  await runSystemProgram('mount', ['-t', 'ext4', '-o', mountOptions, image, mountPoint]);
  await removeLostAndFound(mountPoint);
  // A program may have taken its own folder's permissions away.
  await chown(mountPoint, owner.uid, owner.gid);
  await chmod(mountPoint, 0o755);
}

/** False when something on this host is using it. */
export async function unmount(mountPoint: string): Promise<boolean> {
  try {
    await runSystemProgram('umount', [mountPoint]);
    return true;
  } catch (error) {
    if (error instanceof ProgramError && error.message.includes('not mounted')) return true;
    if (error instanceof ProgramError && error.message.includes('busy')) return false;
    throw error;
  }
}

/** Whether another file system than its parent's is there. */
export async function isMounted(mountPoint: string): Promise<boolean> {
  const [here, above] = await Promise.all([stat(mountPoint), stat(dirname(mountPoint))]);
  return here.dev !== above.dev;
}

/** Only the empty one that mkfs makes for root; a project's own folder of that name is its own. */
async function removeLostAndFound(mountPoint: string): Promise<void> {
  const path = join(mountPoint, 'lost+found');
  try {
    if ((await lstat(path)).uid === 0) await rmdir(path);
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'ENOTEMPTY', 'ENOTDIR')) throw error;
  }
}
