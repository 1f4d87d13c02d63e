import type { BigIntStats } from 'node:fs';
import { SecboxError } from '@secbox/contracts';
import { isErrno, within, type Directory } from './directory.js';
import { parseRelativePath } from './relative-path.js';

export interface ListingPage {
  /** Only what comes after this path. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface ListedFile {
  readonly path: string;
  readonly bytes: number;
  readonly executable: boolean;
}

export interface Listing<File = ListedFile> {
  /** In the order of their paths. */
  readonly files: readonly File[];
  /** There are more than these. */
  readonly more: boolean;
}

/** Each page costs a walk through all of them. */
const mostEntries = 500_000;
const deepest = 32;

/**
 * The regular files below a folder that programs write, one page of them; what has no name that a caller could ask for is
 * left out, and so is what is `hidden`. However many there are, no more than two pages of them are held.
 */
export async function listFolder(
  root: Directory,
  { after, limit }: ListingPage,
  hidden?: string,
): Promise<Listing> {
  const page = new SmallestPaths(limit + 1);
  const isAfter = (path: string) => after === undefined || path > after;
  let entries = 0;
  const visit = async (folder: Directory, above: string, depth: number): Promise<void> => {
    for await (const { name, kind } of folder.listed()) {
      entries += 1;
      if (entries > mostEntries) throw tooMany();
      const path = kind === 'other' ? undefined : nameable(above, name);
      if (path === undefined || path === hidden) continue;
      if (kind === 'file' && !(page.wants(path) && isAfter(path))) continue;
      const stats = kind === 'directory' ? undefined : statOf(folder, name);
      if (kind === 'directory' || stats?.isDirectory() === true) {
        if (depth < deepest) await entering(folder, name, (inner) => visit(inner, `${path}/`, depth + 1));
      } else if (stats?.isFile() === true && isAfter(path)) {
        page.add({ path, bytes: Number(stats.size), executable: (stats.mode & 0o100n) !== 0n });
      }
    }
  };
  await visit(root, '', 1);
  const files = page.all();
  return { files: files.slice(0, limit), more: files.length > limit };
}

/** Programs may be at work there: what is gone by now, or something else, is passed over. */
async function entering(folder: Directory, name: Buffer, use: (inner: Directory) => Promise<void>) {
  let inner: Directory;
  try {
    inner = folder.openDirectory(name);
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES')) return;
    throw error;
  }
  await within(inner, use);
}

function statOf(folder: Directory, name: Buffer): BigIntStats | undefined {
  try {
    return folder.bigStat(name);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function nameable(above: string, name: Buffer): string | undefined {
  const text = name.toString('utf8');
  if (!Buffer.from(text).equals(name)) return undefined;
  try {
    parseRelativePath(above + text, 'path');
    return above + text;
  } catch {
    return undefined;
  }
}

/** Keeps the first so many, in the order of the paths. */
class SmallestPaths {
  readonly #most: number;
  #files: ListedFile[] = [];
  #bound: string | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  wants(path: string): boolean {
    return this.#bound === undefined || path < this.#bound;
  }

  add(file: ListedFile): void {
    if (!this.wants(file.path)) return;
    this.#files.push(file);
    if (this.#files.length >= 2 * this.#most) this.#cut();
  }

  all(): readonly ListedFile[] {
    this.#cut();
    return this.#files;
  }

  #cut(): void {
    this.#files = this.#files.sort((a, b) => (a.path < b.path ? -1 : 1)).slice(0, this.#most);
    if (this.#files.length === this.#most) this.#bound = this.#files.at(-1)?.path;
  }
}

function tooMany(): SecboxError {
  return new SecboxError(
    'listing_too_large',
    `There are more than ${mostEntries} files and folders; they are not listed.`,
    { details: { most: mostEntries } },
  );
}
