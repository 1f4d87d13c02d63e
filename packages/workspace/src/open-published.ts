import { Directory, type EntryName } from './directory.js';
import type { OpenFile } from './open-file.js';

/**
 * Opens a regular file below a folder that a program could write: one component at a time, and nothing on
 * the way is followed. Undefined when what is there is no regular file; fails with ENOENT, ENOTDIR or
 * ELOOP when there is no such way.
 */
export function openPublished(folder: string, path: readonly EntryName[]): OpenFile | undefined {
  let directory = Directory.open(folder);
  try {
    for (const name of path.slice(0, -1)) {
      const above = directory;
      directory = above.openDirectory(name);
      above.close();
    }
    const file = directory.openFile(path.at(-1) ?? '');
    if (file.stat().isFile()) return file;
    file.close();
    return undefined;
  } finally {
    directory.close();
  }
}
