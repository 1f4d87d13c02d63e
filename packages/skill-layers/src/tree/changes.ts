import { sameFile, sortedFiles, type Tree } from './tree.js';

/** What became of the files from one tree to another, in the order of their paths. */
export interface Changes {
  readonly added: readonly { readonly path: string; readonly sha256: string; readonly bytes: number }[];
  readonly changed: readonly {
    readonly path: string;
    readonly before: string;
    readonly sha256: string;
    readonly bytes: number;
  }[];
  readonly deleted: readonly { readonly path: string; readonly sha256: string }[];
}

export function changesBetween(from: Tree, to: Tree): Changes {
  const added: Changes['added'][number][] = [];
  const changed: Changes['changed'][number][] = [];
  for (const [path, entry] of sortedFiles(to)) {
    const before = from.files.get(path);
    const { sha256, bytes } = entry;
    if (!before) added.push({ path, sha256, bytes });
    else if (!sameFile(before, entry)) changed.push({ path, before: before.sha256, sha256, bytes });
  }
  const deleted = sortedFiles(from)
    .filter(([path]) => !to.files.has(path))
    .map(([path, { sha256 }]) => ({ path, sha256 }));
  return { added, changed, deleted };
}
