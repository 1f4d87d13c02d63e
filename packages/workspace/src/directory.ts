import { randomUUID } from 'node:crypto';
import { constants, lstatSync, type BigIntStats, type Stats } from 'node:fs';
import {
  chmod,
  link,
  lstat,
  mkdir,
  open,
  opendir,
  rename,
  rmdir,
  unlink,
  type FileHandle,
} from 'node:fs/promises';
import { SecboxError } from '@secbox/contracts';

/** A file name as the file system has it: names need not be UTF-8. */
export type EntryName = string | Buffer;

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** What was removed: entries that are no folders, and the space of those that had no further name. */
export interface Tally {
  files: number;
  bytes: number;
}

export interface RemoveOptions {
  /** Aborted, it leaves the rest there, and throws. */
  readonly stop?: AbortSignal | undefined;
  /** Is added to while it goes on. */
  readonly tally?: Tally;
}

const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** O_PATH, which Node does not name: refers to an entry, a link too, without opening what it is. */
const referenceFlags = 0o10000000 | constants.O_NOFOLLOW;
/** What `blocks` of a file are counted in. */
const blockBytes = 512;
/** How many names are read, and removed, at once. */
const batchSize = 256;

/**
 * An open folder whose entries are reached through its descriptor and never by path, so that nobody
 * can swap a component for a link between a check and its use. Node has no openat, but on Linux
 * `/proc/self/fd/<fd>/<name>` resolves the name below the open folder. Elsewhere each step is checked
 * with lstat first, which a racing writer could outrun; SECURITY.md says so.
 */
export class Directory {
  readonly #base: EntryName;
  readonly #handle: FileHandle | undefined;

  private constructor(base: EntryName, handle?: FileHandle) {
    this.#base = base;
    this.#handle = handle;
  }

  /** `path` is our own, never a caller's: all its components but the last are trusted. */
  static async open(path: EntryName): Promise<Directory> {
    if (process.platform === 'linux') {
      const handle = await open(path, directoryFlags);
      return new Directory(`/proc/self/fd/${handle.fd}`, handle);
    }
    const stats = await lstat(path);
    if (!stats.isDirectory()) throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' });
    return new Directory(path);
  }

  async close(): Promise<void> {
    await this.#handle?.close();
  }

  /** Opens the folder `name`; fails with ENOTDIR or ELOOP on anything else, links among them. */
  async openDirectory(name: EntryName): Promise<Directory> {
    return Directory.open(this.#at(name));
  }

  /**
   * As {@link openDirectory}, making the folder when it is not there. An existing one gets the mode and
   * owner too: whoever made it may not have come to that yet, or may have died before it.
   */
  async ensureDirectory(name: EntryName, mode: number, owner?: Owner): Promise<Directory> {
    const directory = await this.#openOrMake(name, mode);
    try {
      await directory.#own(mode, owner);
    } catch (error) {
      await directory.close();
      throw error;
    }
    return directory;
  }

  /** It is there nearly always, so that it is asked for first. */
  async #openOrMake(name: EntryName, mode: number): Promise<Directory> {
    try {
      return await this.openDirectory(name);
    } catch (error) {
      if (isErrno(error, 'ENOENT')) await this.#makeDirectory(name, mode);
      // Whoever owns it may have taken away even our own use of it.
      else if (isErrno(error, 'EACCES')) await this.reclaim(name);
      else throw error;
    }
    return this.openDirectory(name);
  }

  /** Opens a file for reading without following a link or blocking on a FIFO; check what it is with stat(). */
  async openFile(name: EntryName): Promise<FileHandle> {
    return open(this.#at(name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  }

  /** Makes a new file for writing; fails with EEXIST when anything of that name is there. */
  async createFile(name: EntryName, mode: number): Promise<FileHandle> {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const file = await open(this.#at(name), flags, mode);
    await file.chmod(mode);
    return file;
  }

  /** Of the entry itself: a link is not followed. */
  async stat(name: EntryName): Promise<Stats> {
    return lstat(this.#at(name));
  }

  /** As {@link stat}, with times to the nanosecond. */
  async bigStat(name: EntryName): Promise<BigIntStats> {
    return lstat(this.#at(name), { bigint: true });
  }

  /** A second name for a file; fails with EEXIST when `toName` is taken. */
  async link(name: EntryName, to: Directory, toName: EntryName): Promise<void> {
    await link(this.#at(name), to.#at(toName));
  }

  /** Replaces what `toName` is, in one step. */
  async rename(name: EntryName, to: Directory, toName: EntryName): Promise<void> {
    await rename(this.#at(name), to.#at(toName));
  }

  /** Removes an entry and all below it; a link is removed, never followed. */
  async remove(name: EntryName, options: RemoveOptions = {}): Promise<void> {
    await this.removeAll([name], options);
  }

  /** As {@link remove}, of so many names as may be under way at once. */
  async removeAll(names: readonly EntryName[], options: RemoveOptions = {}): Promise<void> {
    for (const name of await this.#unlinkAll(names, options)) {
      await this.reclaim(name);
      await within(this.openDirectory(name), (folder) => folder.#clear(options));
      await rmdir(this.#at(name));
    }
  }

  /** Gives the owner back the use of a folder or file that a program took away from itself; a link is left alone. */
  async reclaim(name: EntryName): Promise<void> {
    const path = this.#at(name);
    const entry = this.#handle && (await open(path, referenceFlags));
    try {
      const stats = await (entry?.stat() ?? lstat(path));
      if (usableByOwner(stats)) return;
      await chmod(entry ? `/proc/self/fd/${entry.fd}` : path, stats.mode | neededByOwner(stats));
    } finally {
      await entry?.close();
    }
  }

  /** Names in no order, without holding them all. */
  async *names(): AsyncGenerator<Buffer> {
    // Node's types do not know that opendir takes 'buffer'; without it names that are not UTF-8 are lost.
    const entries = await opendir(this.#base, {
      encoding: 'buffer' as BufferEncoding,
      bufferSize: batchSize,
    });
    for await (const entry of entries) yield Buffer.from(entry.name);
  }

  /** Every entry with what it is, quickly: for trees that are read often and that only we write. */
  async *entries(): AsyncGenerator<{ readonly name: Buffer; readonly stats: BigIntStats }> {
    for await (const name of this.names()) yield { name, stats: lstatSync(this.#at(name), { bigint: true }) };
  }

  /** As {@link names}, some at a time. */
  async *batches(): AsyncGenerator<Buffer[]> {
    let batch: Buffer[] = [];
    for await (const name of this.names()) {
      if (batch.push(name) < batchSize) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  }

  /** Makes what was created or renamed in this folder survive a power cut. */
  async sync(): Promise<void> {
    await this.#handle?.sync();
  }

  /** Fine when someone else was faster. */
  async #makeDirectory(name: EntryName, mode: number): Promise<void> {
    try {
      await mkdir(this.#at(name), { mode });
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw error;
    }
  }

  async #own(mode: number, owner?: Owner): Promise<void> {
    if (!this.#handle) return;
    const stats = await this.#handle.stat();
    if ((stats.mode & 0o7777) !== mode) await this.#handle.chmod(mode);
    if (owner && (stats.uid !== owner.uid || stats.gid !== owner.gid)) {
      await this.#handle.chown(owner.uid, owner.gid);
    }
  }

  /** False for a folder. */
  async #unlink(name: EntryName): Promise<boolean> {
    try {
      await unlink(this.#at(name));
      return true;
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return true;
      if (isErrno(error, 'EISDIR', 'EPERM')) return false;
      throw error;
    }
  }

  /**
   * Unlinks side by side, which takes a third of the time; gives back which of them are folders. Waits for
   * each, as one that is late would find another folder behind a descriptor that was closed.
   */
  async #unlinkAll(names: readonly EntryName[], { stop, tally }: RemoveOptions): Promise<EntryName[]> {
    stop?.throwIfAborted();
    const stats = tally && (await Promise.all(names.map((name) => this.#statOrNothing(name))));
    const unlinked = await Promise.allSettled(names.map((name) => this.#unlink(name)));
    const isUnlinked = (index: number) => {
      const result = unlinked[index];
      return result?.status === 'fulfilled' && result.value;
    };
    if (tally) count(tally, stats?.filter((_, index) => isUnlinked(index)) ?? []);
    for (const result of unlinked) if (result.status === 'rejected') throw result.reason;
    return names.filter((_, index) => !isUnlinked(index));
  }

  async #statOrNothing(name: EntryName): Promise<Stats | undefined> {
    try {
      return await this.stat(name);
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return undefined;
      throw error;
    }
  }

  /** Folders of folders are brought up here first, so that no depth is too much for descriptors or path lengths. */
  async #clear(options: RemoveOptions): Promise<void> {
    let found: boolean;
    do {
      found = false;
      for await (const names of this.batches()) {
        found = true;
        for (const name of await this.#unlinkAll(names, options)) {
          await this.reclaim(name);
          await within(this.openDirectory(name), (folder) => folder.#clearInto(this, options));
          await rmdir(this.#at(name));
        }
      }
    } while (found);
  }

  async #clearInto(above: Directory, options: RemoveOptions): Promise<void> {
    for await (const names of this.batches()) {
      for (const name of await this.#unlinkAll(names, options)) {
        await this.reclaim(name);
        await this.rename(name, above, randomUUID());
      }
    }
  }

  /** The only place where a name becomes a path, so that no caller can hand in more than one component. */
  #at(name: EntryName): EntryName {
    const bytes = Buffer.from(name);
    if (bytes.length === 0 || bytes.includes('/') || ['.', '..'].includes(bytes.toString('latin1'))) {
      throw new SecboxError('invalid_path', 'An entry of a folder is named by one component.');
    }
    if (typeof name === 'string' && typeof this.#base === 'string') return `${this.#base}/${name}`;
    return Buffer.concat([Buffer.from(this.#base), Buffer.from('/'), bytes]);
  }
}

/** Of entries that were unlinked together: space comes back with the last name of a file. */
function count(tally: Tally, unlinked: readonly (Stats | undefined)[]): void {
  const names = new Map<string, number>();
  for (const stats of unlinked) {
    if (!stats) continue;
    const file = `${stats.dev}:${stats.ino}`;
    const seen = (names.get(file) ?? 0) + 1;
    names.set(file, seen);
    tally.files += 1;
    if (seen === stats.nlink) tally.bytes += stats.blocks * blockBytes;
  }
}

/** Whether the owner's own permissions let it read a file, or read and change a folder. */
export function usableByOwner(stats: Stats): boolean {
  const needed = neededByOwner(stats);
  return (stats.mode & needed) === needed;
}

function neededByOwner(stats: Stats): number {
  if (stats.isDirectory()) return 0o700;
  return stats.isFile() ? 0o400 : 0;
}

/** Opens a folder for the time of `use`, and closes it whatever happens. */
export async function within<T>(
  opening: Promise<Directory>,
  use: (directory: Directory) => Promise<T>,
): Promise<T> {
  const directory = await opening;
  try {
    return await use(directory);
  } finally {
    await directory.close();
  }
}

/** Whether a file operation failed for one of these reasons, such as `ENOENT`. */
export function isErrno(error: unknown, ...codes: readonly string[]): boolean {
  const code: unknown =
    typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && codes.includes(code);
}
