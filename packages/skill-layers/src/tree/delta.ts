import {
  allFolders,
  emptyTree,
  sameFile,
  type Tree,
  type TreeDocument,
  fromDocument,
  toDocument,
} from './tree.js';

/** What a tree has that the one below it has not, and what of that one does not shine through. */
export interface Delta {
  /** Added and changed files, and folders that are empty here and are not so below. */
  readonly added: Tree;
  /** Files, and empty folders, of the tree below that are not there any more. */
  readonly deleted: ReadonlySet<string>;
}

export const emptyDelta: Delta = { added: emptyTree, deleted: new Set() };

export function isEmptyDelta({ added, deleted }: Delta): boolean {
  return added.files.size === 0 && added.folders.size === 0 && deleted.size === 0;
}

export function deltaOf(below: Tree, tree: Tree): Delta {
  const files = new Map([...tree.files].filter(([path, entry]) => !sameFile(entry, below.files.get(path))));
  const folders = new Set([...tree.folders].filter((folder) => !below.folders.has(folder)));
  const deleted = new Set<string>();
  for (const path of below.files.keys()) if (!tree.files.has(path)) deleted.add(path);
  for (const path of below.folders) if (!tree.folders.has(path)) deleted.add(path);
  return { added: { files, folders }, deleted };
}

export function applyDelta(below: Tree, { added, deleted }: Delta): Tree {
  const files = new Map(below.files);
  const folders = new Set(below.folders);
  for (const path of deleted) {
    files.delete(path);
    folders.delete(path);
  }
  for (const [path, entry] of added.files) files.set(path, entry);
  for (const folder of added.folders) folders.add(folder);
  return { files, folders };
}

/** Whether laying one over the other, as the kernel does, would show what is deleted: nothing stands in its place. */
export function hides({ added, deleted }: Delta): boolean {
  const folders = deleted.size === 0 ? undefined : allFolders(added);
  for (const path of deleted) if (!added.files.has(path) && folders?.has(path) !== true) return true;
  return false;
}

export interface DeltaDocument extends TreeDocument {
  readonly deleted: readonly string[];
}

export function deltaToDocument({ added, deleted }: Delta): DeltaDocument {
  return { ...toDocument(added), deleted: [...deleted].sort() };
}

export function deltaFromDocument(document: DeltaDocument): Delta {
  return { added: fromDocument(document), deleted: new Set(document.deleted) };
}
