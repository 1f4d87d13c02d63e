import type { FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { Directory, isErrno, within } from './directory.js';

/**
 * Contents by their hash: kept once however many projects' inputs and execs they belong to, and never
 * changed. An input is a further link to its content, so keeping it costs no space.
 */
export class ContentStore {
  readonly #path: string;

  /** The folder must be there, on the file system of whatever is adopted and placed. */
  constructor(path: string) {
    this.#path = path;
  }

  async has(sha256: string): Promise<boolean> {
    try {
      return await this.#inShelf(sha256, async (shelf) => (await shelf.stat(sha256)).isFile());
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return false;
      throw error;
    }
  }

  /** Takes a finished file over from `staging`. */
  async adopt(staging: Directory, name: string, sha256: string): Promise<void> {
    await within(Directory.open(this.#path), (store) =>
      within(store.ensureDirectory(shelfOf(sha256), 0o755), (shelf) => staging.rename(name, shelf, sha256)),
    );
  }

  /** Makes a content appear as a file that is not there yet. */
  async place(sha256: string, folder: Directory, name: string): Promise<void> {
    await this.#inShelf(sha256, async (shelf) => {
      try {
        await shelf.link(sha256, folder, name);
      } catch (error) {
        // File systems without hard links, and the largest number of them a file may have.
        if (!isErrno(error, 'EPERM', 'EMLINK', 'ENOTSUP', 'ENOSYS', 'EOPNOTSUPP')) throw error;
        await copy(await shelf.openFile(sha256), await folder.createFile(name, 0o644));
      }
    });
  }

  /** Fails with ENOENT when the content is not kept. */
  async open(sha256: string): Promise<FileHandle> {
    return this.#inShelf(sha256, (shelf) => shelf.openFile(sha256));
  }

  #inShelf<T>(sha256: string, use: (shelf: Directory) => Promise<T>): Promise<T> {
    return within(Directory.open(this.#path), (store) => within(store.openDirectory(shelfOf(sha256)), use));
  }
}

/** No folder gets too many entries. */
function shelfOf(sha256: string): string {
  return sha256.slice(0, 2);
}

/** Both are closed when it is over. */
async function copy(from: FileHandle, to: FileHandle): Promise<void> {
  await pipeline(from.createReadStream(), to.createWriteStream());
}
