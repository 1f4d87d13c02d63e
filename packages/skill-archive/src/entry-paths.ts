import { SecboxError } from '@secbox/contracts';
import { type ArchiveLimits, invalidArchive, tooLarge } from './archive-limits.js';
import { parseSkillPath } from './skill-path.js';
import type { ZipEntry } from './zip-directory.js';

/** A file or folder that will be made, by the components of its path in the archive. */
export type PlacedEntry =
  | { readonly kind: 'file'; readonly path: readonly string[]; readonly entry: ZipEntry }
  | { readonly kind: 'folder'; readonly path: readonly string[] };

const typeMask = 0o170000;
const linkType = 0o120000;
const encryptedFlags = 0x1 | 0x40 | 0x2000;
const stored = 0;
const deflated = 8;

/** Checks every entry and leaves out what systems put into archives by themselves; one bad entry refuses them all. */
export function placeEntries(
  entries: readonly ZipEntry[],
  names: readonly string[],
  limits: ArchiveLimits,
): PlacedEntry[] {
  const placed: PlacedEntry[] = [];
  const tree = new FoldedTree();
  for (const [n, entry] of entries.entries()) {
    const name = names[n] ?? '';
    const place = placeEntry(entry, name, limits);
    tree.add(place, name);
    if (!place.path.some(isLitter)) placed.push(place);
  }
  return placed;
}

function placeEntry(entry: ZipEntry, name: string, limits: ArchiveLimits): PlacedEntry {
  if ((entry.flags & encryptedFlags) !== 0) throw invalidArchive('it is encrypted', name);
  if ((entry.mode & typeMask) === linkType) throw invalidArchive('it holds a symbolic link', name);
  if (entry.method !== stored && entry.method !== deflated) {
    throw invalidArchive(`it is packed by a method we do not read, ${entry.method}`, name);
  }
  const isFolder = name.endsWith('/') || (entry.dosFolder && entry.bytes === 0);
  if (isFolder && entry.bytes !== 0) throw invalidArchive('a folder in it has content', name);
  const path = componentsOf(name.endsWith('/') ? name.slice(0, -1) : name, name);
  if (path.length > limits.depth) throw tooLarge('its folders are too deep', 'depth', limits.depth);
  return isFolder ? { kind: 'folder', path } : { kind: 'file', path, entry };
}

function componentsOf(text: string, name: string): readonly string[] {
  try {
    return parseSkillPath(text, 'entry');
  } catch (error) {
    if (!(error instanceof SecboxError)) throw error;
    throw invalidArchive(error.message.replace(/^entry: /, '').replace(/\.$/, ''), name);
  }
}

function isLitter(component: string): boolean {
  return component === '__MACOSX' || component === '.DS_Store';
}

/** Finds entries that would be one on some file system: the same name twice, in another case, or file and folder. */
class FoldedTree {
  readonly #known = new Map<
    string,
    { readonly path: string; readonly kind: 'file' | 'folder'; said: boolean }
  >();

  add({ kind, path }: PlacedEntry, name: string): void {
    for (let depth = 1; depth < path.length; depth += 1)
      this.#enter(path.slice(0, depth), 'folder', false, name);
    this.#enter(path, kind, true, name);
  }

  #enter(components: readonly string[], kind: 'file' | 'folder', said: boolean, name: string): void {
    const path = components.join('/');
    const folded = path.toUpperCase().toLowerCase().normalize('NFC');
    const known = this.#known.get(folded);
    if (!known) {
      this.#known.set(folded, { path, kind, said });
      return;
    }
    if (known.kind !== kind) throw invalidArchive('a name in it is both a file and a folder', name);
    if (known.path !== path) throw invalidArchive('two names in it differ only in case', name);
    if (kind === 'file' || (said && known.said)) throw invalidArchive('a name is in it twice', name);
    known.said ||= said;
  }
}
