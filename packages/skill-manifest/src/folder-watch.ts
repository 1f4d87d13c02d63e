import { statSync, watch, type FSWatcher } from 'node:fs';
import { join } from 'node:path';

export interface FolderWatchOptions {
  readonly root: string;
  /** Something of this entry of the root may have changed. */
  readonly onChange: (name: string) => void;
  /** The system does not tell of changes, or not of all: polling has to find them. */
  readonly onBlind: (error: unknown) => void;
}

interface Watched {
  readonly watcher: FSWatcher;
  /** Of the folder that is watched, as another one may come in its place. */
  readonly identity: string;
}

/**
 * Hears of changes below a folder of folders. What it says is a hint to look again, and what it misses a slow
 * poll finds: systems run out of watches, and network file systems have none.
 */
export class FolderWatch {
  readonly #options: FolderWatchOptions;
  readonly #entries = new Map<string, Map<string, Watched>>();
  #root: Watched | undefined;
  #closed = false;

  constructor(options: FolderWatchOptions) {
    this.#options = options;
  }

  /** Hears of entries that come and go; to be called again, as the root can go and another one come. */
  watchRoot(): void {
    if (this.#root && this.#root.identity === this.#identityOf('')) return;
    this.#root?.watcher.close();
    const forget = () => {
      this.#root = undefined;
    };
    this.#root = this.#watch('', (changed) => this.#options.onChange(changed), forget);
  }

  /** Watches these folders of an entry, and no others of it any more. */
  follow(name: string, folders: readonly string[]): void {
    const watched = this.#entries.get(name) ?? new Map<string, Watched>();
    for (const [folder, { watcher, identity }] of watched) {
      if (folders.includes(folder) && identity === this.#identityOf(`${name}/${folder}`)) continue;
      watcher.close();
      watched.delete(folder);
    }
    for (const folder of folders) {
      if (watched.has(folder)) continue;
      const added = this.#watch(
        `${name}/${folder}`,
        () => this.#options.onChange(name),
        () => watched.delete(folder),
      );
      if (added) watched.set(folder, added);
    }
    if (watched.size > 0) this.#entries.set(name, watched);
    else this.#entries.delete(name);
  }

  close(): void {
    this.#closed = true;
    this.#root?.watcher.close();
    for (const watched of this.#entries.values()) for (const { watcher } of watched.values()) watcher.close();
    this.#entries.clear();
  }

  #watch(path: string, onChange: (name: string) => void, forget: () => void): Watched | undefined {
    if (this.#closed) return undefined;
    try {
      // Before it is watched: one that is replaced in between is found to be another.
      const identity = this.#identityOf(path) ?? '';
      const watcher = watch(join(this.#options.root, path), { persistent: false });
      watcher.on('change', (_kind, name) => onChange(String(name)));
      watcher.on('error', (error) => {
        watcher.close();
        forget();
        this.#options.onBlind(error);
      });
      return { watcher, identity };
    } catch (error) {
      this.#options.onBlind(error);
      return undefined;
    }
  }

  /** Numbers of inodes are used again, at times at once. */
  #identityOf(path: string): string | undefined {
    try {
      const { dev, ino, birthtimeNs } = statSync(join(this.#options.root, path), { bigint: true });
      return `${dev} ${ino} ${birthtimeNs}`;
    } catch {
      return undefined;
    }
  }
}
