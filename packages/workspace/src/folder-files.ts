import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { SecboxError } from '@secbox/contracts';
import { asideName, createAside, pathBesideAside } from './change-aside.js';
import { hashFile, sha256Of } from './content-hashes.js';
import { Directory, isErrno, type Owner, within } from './directory.js';
import { listFolder, type Listing, type ListingPage } from './folder-listing.js';
import { inParentOf, pathError, type Step } from './folder-walk.js';
import { type LineRange, readLines, replaceLines } from './line-range.js';
import type { OpenFile } from './open-file.js';
import { parseRelativePath, type RelativePath } from './relative-path.js';
import { type SearchAnswer, type SearchedFile, type SearchQuery, searchText } from './search-text.js';
import { textOf } from './utf8-text.js';

export interface FolderFilesOptions {
  /** Our own path; the folder is there. */
  readonly folder: string;
  /** Who gets what is made; left out when this process runs as that user itself. */
  readonly owner?: Owner | undefined;
  /** Throws for a file whose content is not for callers. */
  readonly checkReadable?: ((stats: Stats) => void) | undefined;
  /** False where nothing is written through this: all names there are callers' own. */
  readonly writes?: boolean | undefined;
}

/** What a change takes for granted; when it is not so, nothing happens. */
export interface FilePrecondition {
  /** The etag that the file must have, or `*` for any. */
  readonly ifMatch?: string | undefined;
  readonly ifAbsent?: boolean | undefined;
}

export interface FileWrite extends FilePrecondition {
  readonly mostBytes: number;
  readonly executable?: boolean | undefined;
}

export interface FileFacts {
  readonly path: string;
  readonly bytes: number;
  readonly executable: boolean;
  readonly etag: string;
}

export interface WrittenFile {
  readonly path: string;
  readonly bytes: number;
  readonly etag: string;
  readonly created: boolean;
}

/** Gets the folder that the path's last name is in, and the one that all is below. */
type Change<T> = (folder: Directory, name: string, root: Directory) => T | Promise<T>;

interface FilePlace {
  readonly root: Directory;
  readonly folder: Directory;
  readonly name: string;
}

/** What is read or edited in one piece. */
const largestText = 16 * 1024 ** 2;
const searchedEntries = 10_000;

/**
 * The files of a folder in which hostile programs may be at work at the same time. Nothing is followed, nothing but regular
 * files is opened, and a change takes effect by one rename. Whoever calls keeps changes of one folder apart.
 */
export class FolderFiles {
  readonly #folder: string;
  readonly #owner: Owner | undefined;
  readonly #checkReadable: FolderFilesOptions['checkReadable'];
  readonly #writes: boolean;

  constructor({ folder, owner, checkReadable, writes = true }: FolderFilesOptions) {
    this.#folder = folder;
    this.#owner = owner;
    this.#checkReadable = checkReadable;
    this.#writes = writes;
  }

  list(page: ListingPage): Promise<Listing> {
    return this.#inside((root) => listFolder(root, page, this.#writes ? asideName : undefined));
  }

  async stat(path: string): Promise<FileFacts> {
    const { file, facts } = await this.open(path);
    file.close();
    return facts;
  }

  /** Whoever gets it closes it. */
  async open(path: string): Promise<{ readonly file: OpenFile; readonly facts: FileFacts }> {
    const file = await this.#openFile(path);
    try {
      const { size: bytes, mode } = file.stat();
      const facts = { path, bytes, executable: (mode & 0o100) !== 0, etag: await etagOf(file) };
      return { file, facts };
    } catch (error) {
      file.close();
      throw error;
    }
  }

  async readText(path: string): Promise<{ readonly text: string; readonly etag: string }> {
    const { file, facts } = await this.open(path);
    try {
      return { text: textOf(await wholeOf(file, facts.bytes)), etag: facts.etag };
    } finally {
      file.close();
    }
  }

  async readLines(
    path: string,
    range: LineRange,
  ): Promise<{ readonly lines: string[]; readonly etag: string }> {
    const { file, facts } = await this.open(path);
    try {
      return { lines: (await readLines(file, range, largestText)).map(textOf), etag: facts.etag };
    } finally {
      file.close();
    }
  }

  async search(query: SearchQuery): Promise<SearchAnswer> {
    const { files, more } = await this.list({ limit: searchedEntries });
    const searched = files.map(({ path, bytes }): SearchedFile => ({
      path,
      bytes,
      read: () => this.#readIfThere(path).catch(nothingIfRefused),
    }));
    const answer = await searchText(searched, query);
    return more ? { ...answer, truncated: true } : answer;
  }

  /** A whole file, as its content comes. Missing folders are made. */
  write(
    path: string,
    content: AsyncIterable<Buffer> | Iterable<Buffer>,
    options: FileWrite,
  ): Promise<WrittenFile> {
    const at = this.#pathOf(path, 'path');
    const use: Change<WrittenFile> = async (folder, name, root) => {
      const before = await this.#before(folder, name, at, options);
      const executable = options.executable ?? before?.executable ?? false;
      const facts = await this.#put({ root, folder, name }, content, executable, options.mostBytes);
      return { path: at.join('/'), ...facts, created: before === undefined };
    };
    return this.#change(at, use, options.ifMatch === undefined ? this.#make : openFor(at));
  }

  /** All of a file, or some of its lines, by text. */
  async edit(
    path: string,
    text: string,
    { start, end, ...precondition }: LineRange & FilePrecondition = {},
  ): Promise<WrittenFile> {
    const byLines = start !== undefined || end !== undefined;
    const old = byLines ? await this.#readIfThere(path) : Buffer.alloc(0);
    const content = byLines ? replaceLines(old, text, { start, end }) : Buffer.from(text);
    return this.write(path, [content], { ...precondition, mostBytes: largestText });
  }

  /** A file, a folder with all in it, or whatever else a program put there. */
  delete(path: string, precondition: FilePrecondition = {}): Promise<void> {
    const at = this.#pathOf(path, 'path');
    return this.#change(at, async (folder, name) => {
      const stats = folder.stat(name);
      if (precondition.ifMatch !== undefined) await this.#before(folder, name, at, precondition, stats);
      await folder.remove(name);
    });
  }

  /** A file or a folder, to where there is nothing. */
  move(from: string, to: string, precondition: FilePrecondition = {}): Promise<void> {
    const [source, target] = [this.#pathOf(from, 'from'), this.#pathOf(to, 'to')];
    if (target.length >= source.length && source.every((component, at) => target[at] === component)) {
      throw new SecboxError('invalid_path', 'to: a folder cannot be moved into itself.', {
        details: { from, to },
      });
    }
    return this.#change(source, async (folder, name) => {
      const stats = folder.stat(name);
      if (!stats.isFile() && !stats.isDirectory()) throw notRegular(source);
      if (precondition.ifMatch !== undefined) await this.#before(folder, name, source, precondition, stats);
      await this.#at(
        target,
        (toFolder, toName) => {
          if (toFolder.has(toName)) throw inTheWay(target);
          folder.rename(name, toFolder, toName);
        },
        this.#make,
      );
    });
  }

  readonly #make: Step = (parent, name) => {
    try {
      return parent.openDirectory(name);
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) throw error;
      return parent.makeDirectory(name, 0o755, this.#owner);
    }
  };

  /** Changes are kept apart: what one lies aside as now was left by a server that was killed. */
  #change<T>(path: RelativePath, use: Change<T>, step?: Step): Promise<T> {
    const changing = async (folder: Directory, name: string, root: Directory): Promise<T> => {
      if (this.#writes) await root.remove(asideName);
      return use(folder, name, root);
    };
    return this.#at(path, changing, step);
  }

  #pathOf(text: string, field: string): RelativePath {
    return (this.#writes ? pathBesideAside : parseRelativePath)(text, field);
  }

  async #at<T>(path: RelativePath, use: Change<T>, step?: Step): Promise<T> {
    try {
      return await this.#inside((root) =>
        inParentOf(path, root, (folder, name) => use(folder, name, root), step),
      );
    } catch (error) {
      throw pathError(error, path);
    }
  }

  #inside<T>(use: (root: Directory) => Promise<T>): Promise<T> {
    return within(Directory.open(this.#folder), use);
  }

  /** What is in the file's place, if it is what the change begins from. */
  async #before(
    folder: Directory,
    name: string,
    path: RelativePath,
    { ifMatch, ifAbsent }: FilePrecondition,
    known?: Stats,
  ): Promise<{ readonly executable: boolean } | undefined> {
    const stats = known ?? statIfThere(folder, name);
    if (stats?.isDirectory() === true) throw inTheWay(path);
    if (stats && !stats.isFile()) throw notRegular(path);
    const etag = () => this.#etagAt(folder, name, path);
    const isOther = ifMatch !== undefined && (!stats || (ifMatch !== '*' && ifMatch !== (await etag())));
    if (isOther || (stats && ifAbsent === true)) throw changed(path, stats ? await etag() : null);
    return stats && { executable: (stats.mode & 0o100) !== 0 };
  }

  async #put(
    { root, folder, name }: FilePlace,
    content: AsyncIterable<Buffer> | Iterable<Buffer>,
    executable: boolean,
    mostBytes: number,
  ): Promise<{ readonly bytes: number; readonly etag: string }> {
    const file = createAside(root, executable ? 0o755 : 0o644);
    const digest = createHash('sha256');
    let bytes = 0;
    try {
      if (this.#owner) file.own(this.#owner);
      for await (const piece of content) {
        bytes += piece.length;
        if (bytes > mostBytes) throw tooLarge(mostBytes);
        digest.update(piece);
        await file.append(piece);
      }
      await file.sync();
      const etag = bytes <= largestText ? digest.digest('hex') : statEtag(file);
      root.rename(asideName, folder, name);
      await folder.sync();
      return { bytes, etag };
    } catch (error) {
      await root.remove(asideName);
      throw error;
    } finally {
      file.close();
    }
  }

  #openFile(path: string): Promise<OpenFile> {
    const at = this.#pathOf(path, 'path');
    return this.#at(at, (folder, name) => this.#openReadable(folder, name, at));
  }

  #openReadable(folder: Directory, name: string, path: RelativePath): OpenFile {
    const file = openRegular(folder, name, path);
    try {
      this.#checkReadable?.(file.stat());
      return file;
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** An etag tells of the content, so that it is for those only who may read that. */
  async #etagAt(folder: Directory, name: string, path: RelativePath): Promise<string> {
    const file = this.#openReadable(folder, name, path);
    try {
      return await etagOf(file);
    } finally {
      file.close();
    }
  }

  /** Nothing of one that is not there. */
  async #readIfThere(path: string): Promise<Buffer> {
    try {
      const file = await this.#openFile(path);
      try {
        return await wholeOf(file, file.stat().size);
      } finally {
        file.close();
      }
    } catch (error) {
      if (error instanceof SecboxError && error.code === 'file_not_found') return Buffer.alloc(0);
      throw error;
    }
  }
}

/** For what a program has put in the place of a file since it was listed. */
function nothingIfRefused(error: unknown): Buffer {
  if (error instanceof SecboxError) return Buffer.alloc(0);
  throw error;
}

function openRegular(folder: Directory, name: string, path: RelativePath): OpenFile {
  const file = folder.openFile(name);
  if (file.stat().isFile()) return file;
  const isFolder = file.stat().isDirectory();
  file.close();
  throw isFolder
    ? new SecboxError('invalid_path', 'path: that is a folder.', { details: { path: path.join('/') } })
    : notRegular(path);
}

function statIfThere(folder: Directory, name: string): Stats | undefined {
  try {
    return folder.stat(name);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Makes no folders for a file that has to be there already. */
function openFor(path: RelativePath): Step {
  return (parent, name) => {
    try {
      return parent.openDirectory(name);
    } catch (error) {
      throw isErrno(error, 'ENOENT') ? changed(path, null) : error;
    }
  };
}

/** The hash of the content; of a large file what the file system says of it, as nobody waits for gigabytes to be read. */
async function etagOf(file: OpenFile): Promise<string> {
  return file.stat().size <= largestText ? (await hashFile(file)).sha256 : statEtag(file);
}

function statEtag(file: OpenFile): string {
  const { dev, ino, size, mtimeNs } = file.bigStat();
  return sha256Of(Buffer.from([dev, ino, size, mtimeNs].join(':')));
}

/** A program may make it longer meanwhile. */
async function wholeOf(file: OpenFile, bytes: number): Promise<Buffer> {
  if (bytes > largestText) throw tooLarge(largestText);
  const chunks: Buffer[] = [];
  if (bytes > 0) for await (const chunk of file.chunks({ start: 0, end: bytes - 1 })) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function changed(path: RelativePath, etag: string | null): SecboxError {
  const at = path.join('/');
  return new SecboxError('file_changed', `The file ${at} is not what the change begins from.`, {
    details: { path: at, etag },
  });
}

function tooLarge(most: number): SecboxError {
  return new SecboxError('file_too_large', `The file has more than ${most} bytes.`, { details: { most } });
}

function notRegular(path: RelativePath): SecboxError {
  return new SecboxError('invalid_path', `${path.join('/')}: links and special files are not followed.`, {
    details: { path: path.join('/') },
  });
}

function inTheWay(path: RelativePath): SecboxError {
  return new SecboxError('file_in_the_way', `There is something at ${path.join('/')} already.`, {
    details: { path: path.join('/') },
  });
}
