import { chmodSync } from 'node:fs';
import { collectArtifacts, Directory, type Collection } from '@secbox/workspace';

const maxEntries = 10_000;
const maxDepth = 32;
const maxPathBytes = 1024 ** 2;

/** The program may have taken our own right to its folder away, and somebody else may have it open. */
export function openReclaimed(path: string): Directory {
  chmodSync(path, 0o755);
  const folder = Directory.open(path);
  folder.takeOver();
  return folder;
}

/**
 * What an exec left in its artifact folder. To be called only when nothing of it runs any more and what has a name of ours
 * is set aside. `staging` is to be given when others ran beside it whom it may have handed its open files to.
 */
export function collectLeft(
  artifacts: Directory,
  maxBytes: number,
  stop: AbortSignal,
  staging?: Directory,
): Promise<Collection> {
  return collectArtifacts(artifacts, { maxBytes, maxEntries, maxDepth, maxPathBytes, stop, staging });
}
