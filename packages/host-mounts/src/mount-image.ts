import { chmodSync, chownSync, lstatSync, readdirSync, readFileSync, rmdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SecboxError } from '@secbox/contracts';
import { isErrno } from '@secbox/workspace';
import type { Owner } from './disk-image.js';
import type { HostMounts } from './host-mounts.js';
import { ProgramError, runSystemProgram } from './system-program.js';

/** `discard` gives the space of removed files back to the host. */
const mountOptions = 'loop,nosuid,nodev,noatime,discard,errors=remount-ro';

/** Mounts an image. One that a dying container still holds becomes the same file system, not a second one. */
export async function mountImage(
  image: string,
  mountPoint: string,
  owner: Owner,
  mounts?: Pick<HostMounts, 'disk'>,
): Promise<void> {
  if (!mounts || isAttached(image) || !(await mountedBy(mounts, image, mountPoint))) {
    await runSystemProgram('mount', ['-t', 'ext4', '-o', mountOptions, image, mountPoint]);
  }
  removeLostAndFound(mountPoint);
  // A program may have taken its own folder's permissions away.
  chownSync(mountPoint, owner.uid, owner.gid);
  chmodSync(mountPoint, 0o755);
}

/** False where it did not, for whatever reason: the system's own program may, or says why it cannot be. */
async function mountedBy(mounts: Pick<HostMounts, 'disk'>, image: string, target: string): Promise<boolean> {
  try {
    await mounts.disk({ image, target });
    return true;
  } catch (error) {
    if (!(error instanceof SecboxError)) throw error;
    // It may have died after it did as it was asked.
    return isMounted(target);
  }
}

/** Whether a loop device has it, mounted wherever. */
export function isAttached(image: string): boolean {
  return readdirSync('/sys/block')
    .filter((name) => name.startsWith('loop'))
    .some((name) => backingFile(name) === image);
}

function backingFile(device: string): string {
  try {
    return readFileSync(`/sys/block/${device}/loop/backing_file`, 'utf8').replace(/\n$/, '');
  } catch (error) {
    // Not attached to anything, or not any more.
    if (isErrno(error, 'ENOENT', 'ENXIO', 'ENODEV')) return '';
    throw error;
  }
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
export function isMounted(mountPoint: string): boolean {
  const here = statSync(mountPoint, { throwIfNoEntry: false });
  // A crash may have left no folder to mount on; making the disk makes it.
  return here !== undefined && here.dev !== statSync(dirname(mountPoint)).dev;
}

/** Only the empty one that mkfs makes for root; a project's own folder of that name is its own. */
function removeLostAndFound(mountPoint: string): void {
  const path = join(mountPoint, 'lost+found');
  try {
    if (lstatSync(path).uid === 0) rmdirSync(path);
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'ENOTEMPTY', 'ENOTDIR')) throw error;
  }
}
