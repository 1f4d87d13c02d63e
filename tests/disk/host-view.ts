import { mountsBelow } from '../../docker/setup/unmount.mjs';
import { loopDevicesOf } from '../leaks.mjs';

/** Disks are mounted by root on Linux; elsewhere work is watched. */
export const onLinuxAsRoot = process.platform === 'linux' && process.getuid?.() === 0;

/** What this host has mounted below a folder. */
export const mountedBelow = mountsBelow;

export function loopFilesBelow(folder: string): string[] {
  return loopDevicesOf(folder).map(({ file }) => file);
}

/** The kernel detaches the file of a disk a moment after it was unmounted. */
export async function loopFilesGone(folder: string): Promise<void> {
  while (loopFilesBelow(folder).length > 0) await new Promise((resolve) => setTimeout(resolve, 50));
}
