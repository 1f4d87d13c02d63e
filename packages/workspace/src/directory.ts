import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsync,
  linkSync,
  lstatSync,
  mkdirSync,
  opendirSync,
  openSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  type BigIntStats,
  type Dir,
  type Stats,
} from 'node:fs';
import { unlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { SecboxError } from '@secbox/contracts';
import { Breath } from './breath.js';
import { listedKind, type ListedKind } from './entry.js';
import { OpenFile, takeOver } from './open-file.js';

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
/** Freeing the space of a larger file takes a while. */
const quicklyFreed = 8 * 1024 ** 2;

/**
 * An open folder whose entries are reached through its descriptor and never by path, so that nobody
 * can swap a component for a link between a check and its use. Node has no openat, but on Linux
 * `/proc/self/fd/<fd>/<name>` resolves the name below the open folder. Elsewhere each step is checked
 * with lstat first, which a racing writer could outrun; SECURITY.md says so.
 *
 * What takes microseconds is done at once and not handed to a thread, which costs ten times as much and
 * an exec needs a hundred of them. Whatever is of any number takes breath between.
 */
export class Directory {
  readonly #base: EntryName;
  readonly #descriptor: number | undefined;
  #closed = false;

  private constructor(base: EntryName, descriptor?: number) {
    this.#base = base;
    this.#descriptor = descriptor;
  }

  /** `path` is our own, never a caller's: all its components but the last are trusted. */
  static open(path: EntryName): Directory {
    if (process.platform === 'linux') {
      const descriptor = openSync(path, directoryFlags);
      return new Directory(`/proc/self/fd/${descriptor}`, descriptor);
    }
    if (!lstatSync(path).isDirectory()) throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' });
    return new Directory(path);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
  }

  /** Opens the folder `name`; fails with ENOTDIR or ELOOP on anything else, links among them. */
  openDirectory(name: EntryName): Directory {
    return Directory.open(this.#at(name));
  }

  /**
   * As {@link openDirectory}, making the folder when it is not there. An existing one gets the mode and
   * owner too: whoever made it may not have come to that yet, or may have died before it.
   */
  ensureDirectory(name: EntryName, mode: number, owner?: Owner): Directory {
    const directory = this.#openOrMake(name, mode);
    try {
      directory.#own(mode, owner);
    } catch (error) {
      directory.close();
      throw error;
    }
    return directory;
  }

  /** As {@link ensureDirectory}, for one that is not there nearly always: it is made first. */
  makeDirectory(name: EntryName, mode: number, owner?: Owner): Directory {
    this.#makeDirectory(name, mode);
    return this.ensureDirectory(name, mode, owner);
  }

  /** It is there nearly always, so that it is asked for first. */
  #openOrMake(name: EntryName, mode: number): Directory {
    try {
      return this.openDirectory(name);
    } catch (error) {
      if (isErrno(error, 'ENOENT')) this.#makeDirectory(name, mode);
      // Whoever owns it may have taken away even our own use of it.
      else if (isErrno(error, 'EACCES')) this.reclaim(name);
      else throw error;
    }
    return this.openDirectory(name);
  }

  /** Opens a file for reading without following a link or blocking on a FIFO; check what it is with stat(). */
  openFile(name: EntryName): OpenFile {
    return OpenFile.open(this.#at(name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  }

  /** Makes a new file for writing; fails with EEXIST when anything of that name is there. */
  createFile(name: EntryName, mode: number): OpenFile {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    return OpenFile.open(this.#at(name), flags, mode);
  }

  /** Makes a new file with this content. */
  async writeFile(name: EntryName, mode: number, content: string | Buffer): Promise<void> {
    const file = this.createFile(name, mode);
    try {
      await file.append(Buffer.from(content));
    } finally {
      file.close();
    }
  }

  /** Of the entry itself: a link is not followed. */
  stat(name: EntryName): Stats {
    return lstatSync(this.#at(name));
  }

  /** Whether there is anything of this name. */
  has(name: EntryName): boolean {
    return lstatSync(this.#at(name), { throwIfNoEntry: false }) !== undefined;
  }

  /** As {@link stat}, with times to the nanosecond. */
  bigStat(name: EntryName): BigIntStats {
    return lstatSync(this.#at(name), { bigint: true });
  }

  /** A second name for a file; fails with EEXIST when `toName` is taken. */
  link(name: EntryName, to: Directory, toName: EntryName): void {
    linkSync(this.#at(name), to.#at(toName));
  }

  /** Replaces what `toName` is, in one step. */
  rename(name: EntryName, to: Directory, toName: EntryName): void {
    renameSync(this.#at(name), to.#at(toName));
  }

  /** Removes an entry and all below it; a link is removed, never followed. */
  async remove(name: EntryName, options: RemoveOptions = {}): Promise<void> {
    await this.removeAll([name], options);
  }

  /** As {@link remove}, of several names. */
  async removeAll(names: readonly EntryName[], options: RemoveOptions = {}): Promise<void> {
    for (const name of await this.#unlinkAll(names, options)) {
      this.reclaim(name);
      await within(this.openDirectory(name), (folder) => folder.#clear(options));
      rmdirSync(this.#at(name));
    }
  }

  /** Gives the owner back the use of a folder or file that a program took away from itself; a link is left alone. */
  reclaim(name: EntryName): void {
    const path = this.#at(name);
    if (this.#descriptor === undefined) {
      makeUsable(path, lstatSync(path));
      return;
    }
    const entry = openSync(path, referenceFlags);
    try {
      makeUsable(`/proc/self/fd/${entry}`, fstatSync(entry));
    } finally {
      closeSync(entry);
    }
  }

  /** Nobody but us can change it any more, not even who has it open: rights to a folder are asked for at every use. */
  takeOver(): void {
    if (this.#descriptor !== undefined) takeOver(this.#descriptor, 0o755);
  }

  /** Names in no order, without holding them all. */
  async *names(): AsyncGenerator<Buffer> {
    const breath = new Breath();
    const entries = this.#openEntries();
    try {
      for (let entry = entries.readSync(); entry; entry = entries.readSync()) {
        yield Buffer.from(entry.name);
        await breath.take();
      }
    } finally {
      entries.closeSync();
    }
  }

  /** As {@link names}, with what the folder says each is, where its file system keeps that there. */
  async *listed(): AsyncGenerator<{ readonly name: Buffer; readonly kind: ListedKind }> {
    const breath = new Breath();
    const entries = this.#openEntries();
    try {
      for (let entry = entries.readSync(); entry; entry = entries.readSync()) {
        yield { name: Buffer.from(entry.name), kind: listedKind(entry) };
        await breath.take();
      }
    } finally {
      entries.closeSync();
    }
  }

  /** Every entry with what it is. */
  async *entries(): AsyncGenerator<{ readonly name: Buffer; readonly stats: BigIntStats }> {
    for await (const name of this.names()) yield { name, stats: this.bigStat(name) };
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
    if (this.#descriptor !== undefined) await syncLater(this.#descriptor);
  }

  #openEntries(): Dir {
    // Node's types do not know that opendir takes 'buffer'; without it names that are not UTF-8 are lost.
    return opendirSync(this.#base, { encoding: 'buffer' as BufferEncoding, bufferSize: batchSize });
  }

  /** Fine when someone else was faster. */
  #makeDirectory(name: EntryName, mode: number): void {
    try {
      mkdirSync(this.#at(name), { mode });
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw error;
    }
  }

  #own(mode: number, owner?: Owner): void {
    if (this.#descriptor === undefined) return;
    const stats = fstatSync(this.#descriptor);
    if ((stats.mode & 0o7777) !== mode) fchmodSync(this.#descriptor, mode);
    if (owner && (stats.uid !== owner.uid || stats.gid !== owner.gid)) {
      fchownSync(this.#descriptor, owner.uid, owner.gid);
    }
  }

  /** Unlinks all that are no folders, and gives back the folders. */
  async #unlinkAll(names: readonly EntryName[], { stop, tally }: RemoveOptions): Promise<EntryName[]> {
    stop?.throwIfAborted();
    const breath = new Breath();
    const folders: EntryName[] = [];
    for (const name of names) {
      const stats = lstatSync(this.#at(name), { throwIfNoEntry: false });
      if (stats?.isDirectory() === true) folders.push(name);
      else if (stats) await this.#unlink(name, stats, tally);
      await breath.take();
    }
    return folders;
  }

  async #unlink(name: EntryName, stats: Stats, tally: Tally | undefined): Promise<void> {
    const bytes = stats.blocks * blockBytes;
    try {
      if (bytes > quicklyFreed) await unlink(this.#at(name));
      else unlinkSync(this.#at(name));
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) throw error;
      return;
    }
    if (!tally) return;
    tally.files += 1;
    // Space comes back with the last name of a file.
    if (stats.nlink === 1) tally.bytes += bytes;
  }

  /** Folders of folders are brought up here first, so that no depth is too much for descriptors or path lengths. */
  async #clear(options: RemoveOptions): Promise<void> {
    let found: boolean;
    do {
      found = false;
      for await (const names of this.batches()) {
        found = true;
        for (const name of await this.#unlinkAll(names, options)) {
          this.reclaim(name);
          await within(this.openDirectory(name), (folder) => folder.#clearInto(this, options));
          rmdirSync(this.#at(name));
        }
      }
    } while (found);
  }

  async #clearInto(above: Directory, options: RemoveOptions): Promise<void> {
    for await (const names of this.batches()) {
      for (const name of await this.#unlinkAll(names, options)) {
        this.reclaim(name);
        this.rename(name, above, randomUUID());
      }
    }
  }

  /** The only place where a name becomes a path, so that no caller can hand in more than one component. */
  #at(name: EntryName): EntryName {
    // Its descriptor may be somebody else's by now.
    if (this.#closed) throw new Error('the folder is closed');
    // A slash, a dot and two are the same bytes in every text that holds them.
    const text = typeof name === 'string' ? name : name.toString('latin1');
    if (text === '' || text === '.' || text === '..' || text.includes('/')) {
      throw new SecboxError('invalid_path', 'An entry of a folder is named by one component.');
    }
    if (typeof name === 'string' && typeof this.#base === 'string') return `${this.#base}/${name}`;
    return Buffer.concat([Buffer.from(this.#base), Buffer.from('/'), Buffer.from(name)]);
  }
}

const syncLater = promisify(fsync);

function makeUsable(path: EntryName, stats: Stats): void {
  if (!usableByOwner(stats)) chmodSync(path, stats.mode | neededByOwner(stats));
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

/** Has a folder open for the time of `use`, which may be a promise's, and closes it whatever happens. */
export function within<T>(directory: Directory, use: (directory: Directory) => T): T {
  let pending = false;
  try {
    const used = use(directory);
    if (!(used instanceof Promise)) return used;
    pending = true;
    return used.finally(() => directory.close()) as T;
  } finally {
    if (!pending) directory.close();
  }
}

/** Whether a file operation failed for one of these reasons, such as `ENOENT`. */
export function isErrno(error: unknown, ...codes: readonly string[]): boolean {
  const code: unknown =
    typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && codes.includes(code);
}
