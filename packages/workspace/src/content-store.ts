import type { BigIntStats } from 'node:fs';
import { Directory, isErrno, type Tally, within } from './directory.js';
import type { OpenFile } from './open-file.js';
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
  removeChosen(choose: () => readonly string[] | Promise<readonly string[]>, tally: Tally): Promise<number> {
    return this.#lock.alone(async () => {
      let removed = 0;
      for (const sha256 of await choose()) {
        if (!this.has(sha256)) continue;
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
      const shelved = within(Directory.open(this.#path), (store) => store.openDirectory(shelf));
      try {
        for await (const { name, stats } of shelved.entries()) {
          if (!isUnlinkedSince(stats, moment)) continue;
          if (found.push(name.toString('latin1')) < batchSize) continue;
          yield found;
          found = [];
        }
      } finally {
        shelved.close();
      }
      if (found.length > 0) yield found;
    }
  }

  /** Of these, the ones that still are. */
  stillUnlinked(sha256s: readonly string[], since: Date): readonly string[] {
    return sha256s.filter((sha256) => {
      const stats = this.#find(sha256);
      return stats !== undefined && isUnlinkedSince(stats, since);
    });
  }

  #find(sha256: string): BigIntStats | undefined {
    try {
      return this.#inShelf(sha256, (shelf) => shelf.bigStat(sha256));
    } catch (error) {
      nothingThere(error);
      return undefined;
    }
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
  has(sha256: string, size?: number): boolean {
    const stats = this.#find(sha256);
    return stats?.isFile() === true && (size === undefined || stats.size === BigInt(size));
  }

  /** Takes a finished file over from `staging`. */
  adopt(staging: Directory, name: string, sha256: string): void {
    within(Directory.open(this.#path), (store) =>
      within(store.ensureDirectory(shelfOf(sha256), 0o755), (shelf) => staging.rename(name, shelf, sha256)),
    );
  }

  /** Makes a content appear as a file that is not there yet. */
  async place(sha256: string, folder: Directory, name: string): Promise<void> {
    await this.#inShelf(sha256, async (shelf) => {
      try {
        shelf.link(sha256, folder, name);
      } catch (error) {
        // File systems without hard links, and the largest number of them a file may have.
        if (!isErrno(error, 'EPERM', 'EMLINK', 'ENOTSUP', 'ENOSYS', 'EOPNOTSUPP')) throw error;
        await copy(shelf.openFile(sha256), () => folder.createFile(name, 0o644));
      }
    });
  }

  /** Fails with ENOENT when the content is not kept. */
  open(sha256: string): OpenFile {
    return this.#inShelf(sha256, (shelf) => shelf.openFile(sha256));
  }

  #inShelf<T>(sha256: string, use: (shelf: Directory) => T): T {
    return within(Directory.open(this.#path), (store) => within(store.openDirectory(shelfOf(sha256)), use));
  }
}

const batchSize = 256;

function isUnlinkedSince(stats: BigIntStats, moment: Date): boolean {
  return stats.isFile() && stats.nlink === 1n && Number(stats.ctimeMs) < moment.getTime();
}

function nothingThere(error: unknown): void {
  if (!isErrno(error, 'ENOENT')) throw error;
}

/** No folder gets too many entries. */
function shelfOf(sha256: string): string {
  return sha256.slice(0, 2);
}

/** Closes both when it is over. */
async function copy(from: OpenFile, create: () => OpenFile): Promise<void> {
  try {
    const to = create();
    try {
      for await (const chunk of from.chunks()) await to.append(chunk);
    } finally {
      to.close();
    }
  } finally {
    from.close();
  }
}
