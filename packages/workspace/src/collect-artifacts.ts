import type { Stats } from 'node:fs';
import mime from 'mime';
import { hashFile } from './content-hashes.js';
import { replaceByCopy } from './replace-by-copy.js';
import { Breath } from './breath.js';
import { type Directory, isErrno, usableByOwner, within } from './directory.js';
import { entryKind, entryPath, type EntryKind, type EntryPath } from './entry.js';
import type { OpenFile } from './open-file.js';

export interface CollectLimits {
  readonly maxBytes: number;
  readonly maxEntries: number;
  readonly maxDepth: number;
  /** Of all listed paths together, so that a listing stays small whatever the names are. */
  readonly maxPathBytes: number;
  /** Aborted when no more time is to be spent. */
  readonly stop: AbortSignal;
  /**
   * To be given when somebody who lives on may have files of the folder open for writing: each is replaced by a copy that
   * is made here, on the same file system, and the copy is what is hashed.
   */
  readonly staging?: Directory | undefined;
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

/**
 * What is past the other limits is not there any more. Only when time ran out, some of what the program
 * left may still lie there, neither listed nor removed.
 */
export type Truncation = DroppedEntry['reason'] | 'too_many_entries' | 'paths_too_long' | 'out_of_time';

export interface Collection {
  readonly files: readonly CollectedFile[];
  readonly others: readonly OtherEntry[];
  readonly dropped: readonly DroppedEntry[];
  readonly total_bytes: number;
  /** Something was dropped, or there were more entries than are listed. */
  readonly truncated: boolean;
  readonly truncated_by: readonly Truncation[];
}

/**
 * Lists and hashes what a program left behind, then removes what is not listed. Everything here is hostile,
 * so nothing is followed and nothing but regular files is opened. What is listed is ours afterwards, so that nobody
 * changes it later. To be called only when nothing of the program runs any more. Throws when the disk has no room for the
 * copies; then nothing is lost, and it may be called again.
 */
export async function collectArtifacts(root: Directory, limits: CollectLimits): Promise<Collection> {
  const collector = new Collector(limits);
  try {
    const kept = await collector.visit(root, Buffer.alloc(0), 0);
    if (collector.collection().truncated) await collector.prune(root, kept);
  } catch (error) {
    if (error !== limits.stop.reason) throw error;
    collector.truncate('out_of_time');
  }
  return collector.collection();
}

/** What is kept of a folder: the bytes of each name, and what is kept below it. */
type Kept = Map<string, Kept | undefined>;

class Collector {
  readonly #limits: CollectLimits;
  readonly #breath = new Breath();
  readonly #files: CollectedFile[] = [];
  readonly #others: OtherEntry[] = [];
  readonly #dropped: DroppedEntry[] = [];
  #entries = 0;
  #pathBytes = 0;
  #bytes = 0;
  readonly #truncatedBy = new Set<Truncation>();

  constructor(limits: CollectLimits) {
    this.#limits = limits;
  }

  collection(): Collection {
    return {
      files: this.#files,
      others: this.#others,
      dropped: this.#dropped,
      total_bytes: this.#bytes,
      truncated: this.#truncatedBy.size > 0,
      truncated_by: [...this.#truncatedBy].sort(),
    };
  }

  truncate(by: Truncation): void {
    this.#truncatedBy.add(by);
  }

  async visit(directory: Directory, prefix: Buffer, depth: number): Promise<Kept> {
    const kept: Kept = new Map();
    directory.takeOver();
    for (const name of await this.#namesWithinLimit(directory, prefix.length + 1)) {
      await this.#breath.take();
      this.#limits.stop.throwIfAborted();
      const path = prefix.length === 0 ? name : Buffer.concat([prefix, slash, name]);
      const stats = directory.stat(name);
      if (!usableByOwner(stats)) directory.reclaim(name);
      const kind = entryKind(stats);
      const key = name.toString('latin1');
      if (kind === 'directory') {
        if (depth === this.#limits.maxDepth) this.#drop(path, 0, 'too_deep');
        else kept.set(key, await this.#visitFolder(directory, name, path, depth + 1));
      } else if (kind === 'file') {
        const size = occupied(stats);
        if (this.#bytes + size > this.#limits.maxBytes) this.#drop(path, size, 'over_total');
        else {
          await this.#visitFile(directory, name, path, size);
          kept.set(key, undefined);
        }
      } else {
        this.#others.push({ ...entryPath(path), kind });
        kept.set(key, undefined);
      }
    }
    return kept;
  }

  /** Removes what is not kept: the manifest is the whole truth about the folder. */
  async prune(directory: Directory, kept: Kept): Promise<void> {
    for await (const names of directory.batches()) {
      const surplus = names.filter((name) => !kept.has(name.toString('latin1')));
      await directory.removeAll(surplus, { stop: this.#limits.stop });
    }
    for (const [name, below] of kept) {
      if (below) {
        await within(directory.openDirectory(Buffer.from(name, 'latin1')), (folder) =>
          this.prune(folder, below),
        );
      }
    }
  }

  /** Sorted by bytes. Names past the limit are not even read: a million of them is never held. */
  async #namesWithinLimit(directory: Directory, prefixBytes: number): Promise<Buffer[]> {
    const names: Buffer[] = [];
    for await (const name of directory.names()) {
      const pathBytes = this.#pathBytes + prefixBytes + name.length;
      const limit = this.#limitMet(pathBytes);
      if (limit !== undefined) {
        this.truncate(limit);
        break;
      }
      this.#entries += 1;
      this.#pathBytes = pathBytes;
      names.push(name);
    }
    return names.sort((a, b) => a.compare(b));
  }

  #limitMet(pathBytes: number): Truncation | undefined {
    if (this.#entries === this.#limits.maxEntries) return 'too_many_entries';
    return pathBytes > this.#limits.maxPathBytes ? 'paths_too_long' : undefined;
  }

  async #visitFolder(parent: Directory, name: Buffer, path: Buffer, depth: number): Promise<Kept> {
    return within(parent.openDirectory(name), (folder) => this.visit(folder, path, depth));
  }

  async #visitFile(parent: Directory, name: Buffer, path: Buffer, size: number): Promise<void> {
    const { stop, staging } = this.#limits;
    this.#bytes += size;
    const opened = openRegular(parent, name);
    if (opened === 'unreadable') {
      this.#others.push({ ...entryPath(path), kind: 'unreadable' });
      return;
    }
    try {
      opened.takeOver();
      const { sha256, length } = staging
        ? await replaceByCopy(opened, { parent, name, staging, stop })
        : await hashFile(opened, stop);
      this.#files.push({ ...entryPath(path), size: length, sha256, media_type: mediaType(path) });
    } finally {
      opened.close();
    }
  }

  #drop(path: Buffer, size: number, reason: DroppedEntry['reason']): void {
    this.truncate(reason);
    this.#dropped.push({ ...entryPath(path), size, reason });
  }
}

const slash = Buffer.from('/');

/** A sparse file counts by its length, a preallocated one by its blocks: whichever costs more. */
function occupied(stats: Stats): number {
  return Math.max(stats.size, stats.blocks * 512);
}

function openRegular(parent: Directory, name: Buffer): OpenFile | 'unreadable' {
  try {
    const file = parent.openFile(name);
    if (file.stat().isFile()) return file;
    file.close();
    return 'unreadable';
  } catch (error) {
    if (isErrno(error, 'EACCES', 'ELOOP', 'ENXIO')) return 'unreadable';
    throw error;
  }
}

function mediaType(path: Buffer): string {
  return mime.getType(path.toString('utf8')) ?? 'application/octet-stream';
}
