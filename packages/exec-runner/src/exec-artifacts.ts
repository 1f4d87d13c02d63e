import { chmodSync } from 'node:fs';
import {
  collectArtifacts,
  Directory,
  setReservedNamesAside,
  type Collection,
  type SetAside,
} from '@secbox/workspace';

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

export interface LeftBehind {
  readonly setAside: readonly SetAside[];
  readonly collection: Collection;
}

/**
 * What an exec left in its artifact folder. To be called only when nothing of it runs any more. `staging` is to be given
 * when others ran beside it whom it may have handed its open files to.
 */
export async function collectLeft(
  artifacts: Directory,
  maxBytes: number,
  stop: AbortSignal,
  staging?: Directory,
): Promise<LeftBehind> {
  const setAside = setReservedNamesAside(artifacts);
  const limits = { maxBytes, maxEntries, maxDepth, maxPathBytes, stop, staging };
  return { setAside, collection: await collectArtifacts(artifacts, limits) };
}
