import { allFolders, type FileEntry, foldersAbove, sameFile, type Tree, treeOf } from './tree.js';

/**
 * What both sides did to one file since they parted. `changed`: each in its own way. `deleted`: it is deleted in what
 * comes, and changed here. `restored`: deleted here, changed in what comes. `blocked`: a file here is a folder there.
 */
export type ConflictKind = 'changed' | 'deleted' | 'restored' | 'blocked';

export interface Conflict {
  readonly path: string;
  readonly kind: ConflictKind;
  readonly here: string | null;
  readonly coming: string | null;
  /** Where what came lies now, if not at its path. */
  readonly kept_as?: string;
}

export interface Merge {
  readonly tree: Tree;
  readonly conflicts: readonly Conflict[];
}

/**
 * Brings what changed from `base` to `coming` into `here`. A file that both changed stays as it is here; a change beats
 * a deletion. With `beside`, what came is kept under another name instead of being only told.
 */
export function mergeTrees(
  base: Tree,
  here: Tree,
  coming: Tree,
  beside?: (path: string, taken: (path: string) => boolean) => string,
): Merge {
  const result = new GrowingTree(here);
  const conflicts: Conflict[] = [];
  const asides = new Map<string, string>();
  const tell = (path: string, kind: ConflictKind, keptAs?: string) =>
    conflicts.push({
      path,
      kind,
      here: here.files.get(path)?.sha256 ?? null,
      coming: coming.files.get(path)?.sha256 ?? null,
      ...(keptAs === undefined ? {} : { kept_as: keptAs }),
    });

  for (const [path, before] of base.files) {
    if (coming.files.has(path) || !here.files.has(path)) continue;
    if (sameFile(here.files.get(path), before)) result.delete(path);
    else tell(path, 'deleted');
  }
  const changed = [...coming.files].filter(([path, entry]) => !sameFile(entry, base.files.get(path)));
  for (const [path, entry] of changed.sort(([a], [b]) => (a < b ? -1 : 1))) {
    const now = here.files.get(path);
    if (sameFile(now, entry)) continue;
    const untouched = sameFile(now, base.files.get(path));
    const fits = result.fits(path);
    if (fits && (untouched || now === undefined)) {
      result.set(path, entry);
      if (!untouched) tell(path, 'restored');
      continue;
    }
    const kind = fits ? 'changed' : 'blocked';
    const blocked = result.blockedAt(path) ?? path;
    const aside = asides.get(blocked) ?? beside?.(blocked, (taken) => result.has(taken));
    if (aside === undefined) {
      tell(path, kind);
      continue;
    }
    asides.set(blocked, aside);
    const keptAs = aside + path.slice(blocked.length);
    result.set(keptAs, entry);
    tell(path, kind, keptAs);
  }
  return { tree: treeOf(result.files, mergedFolders(base, here, coming)), conflicts };
}

/** A folder that one side made or removed is there or not as that side has it; what is in it decides in the end. */
function mergedFolders(base: Tree, here: Tree, coming: Tree): string[] {
  const [before, now, then] = [allFolders(base), allFolders(here), allFolders(coming)];
  return [...new Set([...now, ...then])].filter((folder) =>
    then.has(folder) === before.has(folder) ? now.has(folder) : then.has(folder),
  );
}

/** Files with a count of what is below each folder, so that a name is never both. */
class GrowingTree {
  readonly files: Map<string, FileEntry>;
  readonly #below = new Map<string, number>();

  constructor({ files }: Tree) {
    this.files = new Map(files);
    for (const path of files.keys()) this.#count(path, 1);
  }

  has(path: string): boolean {
    return this.files.has(path) || (this.#below.get(path) ?? 0) > 0;
  }

  /** Where a file or folder is in the way of that file. */
  blockedAt(path: string): string | undefined {
    for (const folder of foldersAbove(path)) if (this.files.has(folder)) return folder;
    return (this.#below.get(path) ?? 0) > 0 ? path : undefined;
  }

  fits(path: string): boolean {
    return this.blockedAt(path) === undefined;
  }

  set(path: string, entry: FileEntry): void {
    if (!this.files.has(path)) this.#count(path, 1);
    this.files.set(path, entry);
  }

  delete(path: string): void {
    if (this.files.delete(path)) this.#count(path, -1);
  }

  #count(path: string, by: number): void {
    for (const folder of foldersAbove(path)) this.#below.set(folder, (this.#below.get(folder) ?? 0) + by);
  }
}
