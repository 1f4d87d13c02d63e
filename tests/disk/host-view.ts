import { readdirSync, readFileSync } from 'node:fs';
import { mountsBelow } from '../../docker/setup/unmount.mjs';

/** What this host has mounted, and attached as loop devices, below a folder. */
export const mountedBelow = mountsBelow;

export function loopFilesBelow(folder: string): string[] {
  return readdirSync('/sys/block')
    .filter((name) => name.startsWith('loop'))
    .flatMap((name) => {
      try {
        return [readFileSync(`/sys/block/${name}/loop/backing_file`, 'utf8').trim()];
      } catch {
        return [];
      }
    })
    .filter((file) => file.startsWith(`${folder}/`));
}
