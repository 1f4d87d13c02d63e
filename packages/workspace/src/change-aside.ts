import { SecboxError } from '@secbox/contracts';
import { type Directory, isErrno } from './directory.js';
import type { OpenFile } from './open-file.js';
import { parseRelativePath, type RelativePath } from './relative-path.js';

/**
 * What a change is written into before it takes its place by a rename: in the folder itself, so that what a server that was
 * killed left is found without a search. There is one, as changes of a folder are kept apart; it is told to nobody.
 */
export const asideName = '.secbox-change';

export function createAside(root: Directory, mode: number): OpenFile {
  try {
    return root.createFile(asideName, mode);
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
    // What was there is gone already: a program put this there since.
    throw new SecboxError('file_in_the_way', `A program keeps something at ${asideName}.`, {
      details: { path: asideName },
    });
  }
}

/** A caller's path to something of the caller's own. */
export function pathBesideAside(text: string, field: string): RelativePath {
  const path = parseRelativePath(text, field);
  if (path[0] !== asideName) return path;
  throw new SecboxError('invalid_path', `${field}: ${asideName} is a name of the service's own.`, {
    details: { field },
  });
}
