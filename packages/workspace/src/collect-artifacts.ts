import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import mime from 'mime';
import { hashFile } from './content-hashes.js';
import { type Directory, isErrno, usableByOwner, within } from './directory.js';
import { entryKind, entryPath, type EntryKind, type EntryPath } from './entry.js';

export interface CollectLimits {
  readonly maxBytes: number;
  readonly maxEntries: number;
  readonly maxDepth: number;
  /** Of all listed paths together, so that a listing stays small whatever the names are. */
  readonly maxPathBytes: number;
}

export interface CollectedFile extends EntryPath {
  readonly size: number;
  readonly sha256: string;
  readonly media_type: string;
}

export interface OtherEntry extends EntryPath {
  readonly kind: Exclude<EntryKind, 'file' | 'directory'> | 'unreadable';
}

export interface DroppedEntry extends EntryPath {
  readonly size: number;
  readonly reason: 'over_total' | 'too_deep';
}

export interface Collection {
  readonly files: readonly CollectedFile[];
  readonly others: readonly OtherEntry[];
  readonly dropped: readonly DroppedEntry[];
  readonly total_bytes: number;
  /** Something was dropped, or there were more entries than are listed. */
  readonly truncated: boolean;
}

/**
 * Lists and hashes what a program left behind. Everything here is hostile, so nothing is followed,
 * nothing but regular files is opened, and what is past the limits is removed, not kept unlisted.
 * To be called only when nothing can write to the folder any more.
 */
export async function collectArtifacts(root: Directory, limits: CollectLimits): Promise<Collection> {
  const collector = new Collector(limits);
  await collector.visit(root, Buffer.alloc(0), 0);
  return collector.collection();
}

class Collector {
  readonly #limits: CollectLimits;
  readonly #files: CollectedFile[] = [];
  readonly #others: OtherEntry[] = [];
  readonly #dropped: DroppedEntry[] = [];
  #entries = 0;
  #pathBytes = 0;
  #bytes = 0;
  #truncated = false;

  constructor(limits: CollectLimits) {
    this.#limits = limits;
  }

  collection(): Collection {
    return {
      files: this.#files,
      others: this.#others,
      dropped: this.#dropped,
      total_bytes: this.#bytes,
      truncated: this.#truncated,
    };
  }

  async visit(directory: Directory, prefix: Buffer, depth: number): Promise<void> {
    for (const name of await this.#namesWithinLimit(directory, prefix.length + 1)) {
      const path = prefix.length === 0 ? name : Buffer.concat([prefix, slash, name]);
      const stats = await directory.stat(name);
      if (!usableByOwner(stats)) await directory.reclaim(name);
      const kind = entryKind(stats);
      if (kind === 'directory') await this.#visitFolder(directory, name, path, depth + 1);
      else if (kind === 'file') await this.#visitFile(directory, name, path, stats);
      else this.#others.push({ ...entryPath(path), kind });
    }
  }

  /** Sorted by bytes. Names past the entry limit are removed as they are met: a million of them is never held. */
  async #namesWithinLimit(directory: Directory, prefixBytes: number): Promise<Buffer[]> {
    const names: Buffer[] = [];
    const surplus: Buffer[] = [];
    for await (const name of directory.names()) {
      const pathBytes = this.#pathBytes + prefixBytes + name.length;
      if (this.#entries < this.#limits.maxEntries && pathBytes <= this.#limits.maxPathBytes) {
        this.#entries += 1;
        this.#pathBytes = pathBytes;
        names.push(name);
        continue;
      }
      this.#truncated = true;
      surplus.push(name);
      if (surplus.length === removalBatch) await removeAll(directory, surplus.splice(0));
    }
    await removeAll(directory, surplus);
    return names.sort((a, b) => a.compare(b));
  }

  async #visitFolder(parent: Directory, name: Buffer, path: Buffer, depth: number): Promise<void> {
    if (depth > this.#limits.maxDepth) {
      this.#drop(path, 0, 'too_deep');
      await parent.remove(name);
      return;
    }
    await within(parent.openDirectory(name), (folder) => this.visit(folder, path, depth));
  }

  async #visitFile(parent: Directory, name: Buffer, path: Buffer, listed: Stats): Promise<void> {
    const size = occupied(listed);
    if (this.#bytes + size > this.#limits.maxBytes) {
      this.#drop(path, size, 'over_total');
      await parent.remove(name);
      return;
    }
    this.#bytes += size;
    const opened = await openRegular(parent, name);
    if (opened === 'unreadable') {
      this.#others.push({ ...entryPath(path), kind: 'unreadable' });
      return;
    }
    try {
      const { sha256, length } = await hashFile(opened);
      this.#files.push({ ...entryPath(path), size: length, sha256, media_type: mediaType(path) });
    } finally {
      await opened.close();
    }
  }

  #drop(path: Buffer, size: number, reason: DroppedEntry['reason']): void {
    this.#truncated = true;
    this.#dropped.push({ ...entryPath(path), size, reason });
  }
}

const slash = Buffer.from('/');
const removalBatch = 256;

async function removeAll(directory: Directory, names: readonly Buffer[]): Promise<void> {
  for (const name of names) await directory.remove(name);
}

/** A sparse file counts by its length, a preallocated one by its blocks: whichever costs more. */
function occupied(stats: Stats): number {
  return Math.max(stats.size, stats.blocks * 512);
}

async function openRegular(parent: Directory, name: Buffer): Promise<FileHandle | 'unreadable'> {
  try {
    const file = await parent.openFile(name);
    if ((await file.stat()).isFile()) return file;
    await file.close();
    return 'unreadable';
  } catch (error) {
    if (isErrno(error, 'EACCES', 'ELOOP', 'ENXIO')) return 'unreadable';
    throw error;
  }
}

function mediaType(path: Buffer): string {
  return mime.getType(path.toString('utf8')) ?? 'application/octet-stream';
}
