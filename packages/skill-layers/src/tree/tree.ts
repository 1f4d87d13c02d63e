import { createHash } from 'node:crypto';

/** A file by its content; where it lies is the layers' business. */
export interface FileEntry {
  readonly sha256: string;
  readonly bytes: number;
  readonly executable: boolean;
}

/**
 * All that a skill is: its files by their paths, and those of its folders that are empty. A path is written with `/`
 * and is relative to the skill's root. No file is also a folder.
 */
export interface Tree {
  readonly files: ReadonlyMap<string, FileEntry>;
  readonly folders: ReadonlySet<string>;
}

export const emptyTree: Tree = { files: new Map(), folders: new Set() };

export function sameFile(a: FileEntry | undefined, b: FileEntry | undefined): boolean {
  if (!a || !b) return a === b;
  return a.sha256 === b.sha256 && a.executable === b.executable;
}

export function sameTree(a: Tree, b: Tree): boolean {
  if (a.files.size !== b.files.size || a.folders.size !== b.folders.size) return false;
  for (const [path, entry] of a.files) if (!sameFile(entry, b.files.get(path))) return false;
  for (const folder of a.folders) if (!b.folders.has(folder)) return false;
  return true;
}

/** `a/b/c` has `a` and `a/b`. */
export function* foldersAbove(path: string): Generator<string> {
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) yield path.slice(0, at);
}

export function isBelow(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}

/** Every folder, empty or not. */
export function allFolders({ files, folders }: Tree): Set<string> {
  const all = new Set<string>();
  for (const path of files.keys()) for (const folder of foldersAbove(path)) all.add(folder);
  for (const path of folders) {
    all.add(path);
    for (const folder of foldersAbove(path)) all.add(folder);
  }
  return all;
}

/** Of these folders only those are named that nothing is in, and that no file stands in place of. */
export function treeOf(files: ReadonlyMap<string, FileEntry>, folders: Iterable<string>): Tree {
  const named = new Set(folders);
  for (const folder of [...named]) for (const above of foldersAbove(folder)) named.delete(above);
  for (const path of files.keys()) {
    named.delete(path);
    for (const above of foldersAbove(path)) named.delete(above);
  }
  for (const folder of [...named])
    for (const above of foldersAbove(folder)) if (files.has(above)) named.delete(folder);
  return { files, folders: named };
}

export function isFolder(tree: Tree, path: string): boolean {
  if (tree.folders.has(path)) return true;
  for (const file of tree.files.keys()) if (isBelow(file, path)) return true;
  for (const folder of tree.folders) if (isBelow(folder, path)) return true;
  return false;
}

/** In the order of their paths, which is the same everywhere. */
export function sortedFiles({ files }: Tree): [string, FileEntry][] {
  return [...files].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The address of a tree is its content: equal trees have equal versions, whoever made them, and when. */
export function versionOf(tree: Tree): string {
  const digest = createHash('sha256');
  for (const [path, { sha256, executable }] of sortedFiles(tree)) {
    digest.update(JSON.stringify([path, sha256, executable]));
  }
  for (const folder of [...tree.folders].sort()) digest.update(JSON.stringify([folder]));
  return digest.digest('hex');
}

/** A tree as it is written down: lists, as a path may be any name an object would take amiss. */
export interface TreeDocument {
  readonly files: readonly (readonly [path: string, sha256: string, bytes: number, executable: 0 | 1])[];
  readonly folders: readonly string[];
}

export function toDocument(tree: Tree): TreeDocument {
  return {
    files: sortedFiles(tree).map(([path, { sha256, bytes, executable }]) => [
      path,
      sha256,
      bytes,
      executable ? 1 : 0,
    ]),
    folders: [...tree.folders].sort(),
  };
}

export function fromDocument({ files, folders }: TreeDocument): Tree {
  return {
    files: new Map(files.map(([path, sha256, bytes, x]) => [path, { sha256, bytes, executable: x === 1 }])),
    folders: new Set(folders),
  };
}
