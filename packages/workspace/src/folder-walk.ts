import { SecboxError } from '@secbox/contracts';
import { isErrno, type Directory } from './directory.js';
import type { RelativePath } from './relative-path.js';

/** Goes from a folder into one of its own. */
export type Step = (parent: Directory, name: string) => Directory;

const open: Step = (parent, name) => parent.openDirectory(name);

/**
 * Walks to the folder of a file, and lets go of each one once it is in the next: a path may be deeper
 * than there are descriptors.
 */
export async function inParentOf<T>(
  path: RelativePath,
  root: Directory,
  use: (folder: Directory, name: string) => T | Promise<T>,
  step: Step = open,
): Promise<T> {
  let folder = root;
  try {
    for (const component of path.slice(0, -1)) {
      const parent = folder;
      folder = step(parent, component);
      if (parent !== root) parent.close();
    }
    return await use(folder, path.at(-1) ?? '');
  } finally {
    if (folder !== root) folder.close();
  }
}

/** What the file system says of a caller's path, in our words; anything else as it is. */
export function pathError(error: unknown, path: RelativePath): unknown {
  const details = { path: path.join('/') };
  if (isErrno(error, 'ENOENT')) {
    return new SecboxError('file_not_found', `There is no file or folder ${details.path}.`, { details });
  }
  if (isErrno(error, 'ELOOP', 'ENOTDIR', 'ENXIO', 'EINVAL')) {
    return new SecboxError('invalid_path', `${details.path}: links and special files are not followed.`, {
      details,
    });
  }
  if (isErrno(error, 'ENOSPC', 'EDQUOT')) {
    return new SecboxError('disk_full', 'There is no room left for it.', { details });
  }
  return error;
}
