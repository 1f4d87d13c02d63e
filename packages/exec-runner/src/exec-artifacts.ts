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

/** The program may have taken our own right to its folder away. */
export function openReclaimed(path: string): Directory {
  chmodSync(path, 0o755);
  return Directory.open(path);
}

export interface LeftBehind {
  readonly setAside: readonly SetAside[];
  readonly collection: Collection;
}

/** What an exec left in its artifact folder. To be called only when nothing of it can write any more. */
export async function collectLeft(
  artifacts: Directory,
  maxBytes: number,
  stop: AbortSignal,
): Promise<LeftBehind> {
  const setAside = setReservedNamesAside(artifacts);
  const limits = { maxBytes, maxEntries, maxDepth, maxPathBytes, stop };
  return { setAside, collection: await collectArtifacts(artifacts, limits) };
}
