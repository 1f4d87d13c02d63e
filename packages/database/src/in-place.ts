import { statSync } from 'node:fs';
import { basename } from 'node:path';

/**
 * Whether files that are open are still those at their paths. SQLite goes on writing into a file that somebody removed
 * or replaced, and says that all is well: every row of that would be gone with the next start.
 */
export function inPlaceCheck(paths: readonly string[]): () => void {
  const opened = paths.map((path) => ({ path, identity: identityOf(path) }));
  return () => {
    for (const { path, identity } of opened) {
      if (identityOf(path) !== identity) throw new FileGone(path);
    }
  };
}

/** Nothing may be written, as it would be lost. */
export class FileGone extends Error {
  constructor(path: string) {
    super(`the file ${basename(path)} was removed or replaced while it was open`);
  }
}

function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino}`;
}
