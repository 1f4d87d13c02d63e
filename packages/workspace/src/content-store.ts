import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { Directory, isErrno, type Tally, within } from './directory.js';
import { SharedLock } from './shared-lock.js';

/**
 * Contents by their hash: kept once however many projects' inputs and execs they belong to, and never
 * changed. An input is a further link to its content, so keeping it costs no space.
 */
export class ContentStore {
  readonly #path: string;
  readonly #lock: SharedLock;

  /** The folder must be there, on the file system of whatever is adopted and placed. */
  constructor(path: string, lock = new SharedLock()) {
    this.#path = path;
    this.#lock = lock;
  }

  /** Nothing is removed while `work` looks for contents and places them. */
  using<T>(work: () => Promise<T>): Promise<T> {
    return this.#lock.shared(work);
  }

  /** Removes those that `choose` tells while nobody is using any; gives how many there were. */
  removeChosen(choose: () => Promise<readonly string[]>, tally: Tally): Promise<number> {
    return this.#lock.alone(async () => {
      let removed = 0;
      for (const sha256 of await choose()) {
        if (!(await this.has(sha256))) continue;
        await this.#inShelf(sha256, (shelf) => shelf.remove(sha256, { tally }));
        removed += 1;
      }
      return removed;
    });
  }

  /**
   * Those that no input has been a link to since that moment, some at a time. The file system knows: it dates
   * a change of their links. Where it has no links, that is since they came.
   */
  async *unlinkedSince(moment: Date): AsyncGenerator<readonly string[]> {
    for (const shelf of await this.#shelves()) {
      let found: string[] = [];
      const shelved = await within(Directory.open(this.#path), (store) => store.openDirectory(shelf));
      try {
        for await (const { name, stats } of shelved.entries()) {
          if (!isUnlinkedSince(stats, moment)) continue;
          if (found.push(name.toString('latin1')) < batchSize) continue;
          yield found;
          found = [];
        }
      } finally {
        await shelved.close();
      }
      if (found.length > 0) yield found;
    }
  }

  /** Of these, the ones that still are. */
  async stillUnlinked(sha256s: readonly string[], since: Date): Promise<readonly string[]> {
    const still: string[] = [];
    for (const sha256 of sha256s) {
      const stats = await this.#inShelf(sha256, (shelf) => shelf.bigStat(sha256)).catch(nothingThere);
      if (stats && isUnlinkedSince(stats, since)) still.push(sha256);
    }
    return still;
  }

  async #shelves(): Promise<readonly string[]> {
    const names: string[] = [];
    try {
      await within(Directory.open(this.#path), async (store) => {
        for await (const name of store.names()) names.push(name.toString('latin1'));
      });
    } catch (error) {
      nothingThere(error);
    }
    return names.filter((name) => /^[0-9a-f]{2}$/.test(name)).sort();
  }

  /** Whether it is kept; one that is not of the size that it should have counts as missing. */
  async has(sha256: string, size?: number): Promise<boolean> {
    try {
      return await this.#inShelf(sha256, async (shelf) => {
        const stats = await shelf.stat(sha256);
        return stats.isFile() && (size === undefined || stats.size === size);
      });
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

const batchSize = 256;

function isUnlinkedSince(stats: BigIntStats, moment: Date): boolean {
  return stats.isFile() && stats.nlink === 1n && Number(stats.ctimeMs) < moment.getTime();
}

function nothingThere(error: unknown): undefined {
  if (!isErrno(error, 'ENOENT')) throw error;
}

/** No folder gets too many entries. */
function shelfOf(sha256: string): string {
  return sha256.slice(0, 2);
}

/** Both are closed when it is over. */
async function copy(from: FileHandle, to: FileHandle): Promise<void> {
  await pipeline(from.createReadStream(), to.createWriteStream());
}
