import type { FileHandle } from 'node:fs/promises';
import { Directory, type EntryName } from './directory.js';

/**
 * Opens a regular file below a folder that a program could write: one component at a time, and nothing on
 * the way is followed. Undefined when what is there is no regular file; fails with ENOENT, ENOTDIR or
 * ELOOP when there is no such way.
 */
export async function openPublished(
  folder: string,
  path: readonly EntryName[],
): Promise<FileHandle | undefined> {
  let directory = await Directory.open(folder);
  try {
    for (const name of path.slice(0, -1)) {
      const above = directory;
      directory = await above.openDirectory(name);
      await above.close();
    }
    const file = await directory.openFile(path.at(-1) ?? '');
    if ((await file.stat()).isFile()) return file;
    await file.close();
    return undefined;
  } finally {
    await directory.close();
  }
}
