import { SecboxError } from '@secbox/contracts';
import { pathOf } from './readable-skill.js';
import { type FileEntry, foldersAbove, isBelow, isFolder, type Tree, treeOf } from '../tree/tree.js';

/** The tree with that file, in place of one of that name. */
export function withFile(tree: Tree, path: string, entry: FileEntry): Tree {
  for (const folder of foldersAbove(path)) if (tree.files.has(folder)) throw inTheWay(folder, 'file');
  if (!tree.files.has(path) && isFolder(tree, path)) throw inTheWay(path, 'folder');
  const folders = new Set(tree.folders);
  for (const folder of foldersAbove(path)) folders.delete(folder);
  return { files: new Map(tree.files).set(path, entry), folders };
}

/** Without the file, or the folder and all in it; the folder it was in stays. Undefined when there is none. */
export function without(tree: Tree, path: string): Tree | undefined {
  const gone = (each: string) => each === path || isBelow(each, path);
  const files = new Map([...tree.files].filter(([each]) => !gone(each)));
  const folders = [...tree.folders].filter((each) => !gone(each));
  if (files.size === tree.files.size && folders.length === tree.folders.size) return undefined;
  const above = [...foldersAbove(path)].at(-1);
  return treeOf(files, above === undefined ? folders : [...folders, above]);
}

/** With the file or folder at another path. */
export function withMoved(tree: Tree, from: string, to: string): Tree | undefined {
  const rest = without(tree, from);
  if (!rest) return undefined;
  if (from === to || isBelow(to, from)) {
    throw new SecboxError('invalid_path', 'A folder cannot be moved into itself.', { details: { from, to } });
  }
  if (tree.files.has(to) || isFolder(tree, to)) throw inTheWay(to, tree.files.has(to) ? 'file' : 'folder');
  for (const folder of foldersAbove(to)) if (rest.files.has(folder)) throw inTheWay(folder, 'file');
  const moved = (path: string) => pathOf(to + path.slice(from.length), 'to');
  const files = new Map(rest.files);
  const folders = new Set(rest.folders);
  for (const [path, entry] of tree.files)
    if (path === from || isBelow(path, from)) files.set(moved(path), entry);
  for (const path of tree.folders) if (path === from || isBelow(path, from)) folders.add(moved(path));
  return treeOf(files, folders);
}

function inTheWay(path: string, what: 'file' | 'folder'): SecboxError {
  return new SecboxError('file_in_the_way', `There is a ${what} at ${path}.`, { details: { path } });
}
