import { SecboxError } from '@secbox/contracts';
import type { FolderUsage } from '@secbox/exec-runner';

export interface SandboxRoomOptions {
  /** What is in a folder, as the disk has it. */
  readonly measure: (folder: string) => Promise<FolderUsage>;
  /** What a sandbox may take. */
  readonly limit: () => FolderUsage;
  readonly now?: () => number;
}

interface Known extends FolderUsage {
  readonly stamp: number | undefined;
  readonly at: number;
}

const mostKnown = 10_000;
/** While an exec is in it, what was measured holds for so long. */
const freshMs = 1000;
const blockBytes = 4096;

/**
 * Whether there is room for more in a general sandbox. It is measured when somebody comes, and after an exec; in between
 * what is added is counted, and what is removed is not, until there would be no room: then it is measured again.
 */
export class SandboxRoom {
  readonly #options: SandboxRoomOptions;
  readonly #now: () => number;
  readonly #known = new Map<string, Known>();

  constructor(options: SandboxRoomOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** Throws when so many bytes more, in one file at that path, are too many; one change of a sandbox at a time. */
  async reserve(
    folder: string,
    { path, bytes }: { readonly path: string; readonly bytes: number },
    stamp: number | undefined,
  ): Promise<void> {
    const limit = this.#options.limit();
    // The file, and each folder above it, which may have to be made.
    const entries = path.split('/').length;
    const added = { bytes: Math.ceil(bytes / blockBytes) * blockBytes + entries * blockBytes, entries };
    const known = this.#recall(folder, stamp);
    const fits = (usage: FolderUsage) =>
      usage.bytes + bytes <= limit.bytes && usage.entries + 1 <= limit.entries;
    const usage = known && fits(known) ? known : await this.#measure(folder, stamp);
    if (!fits(usage)) throw full(usage, bytes, limit);
    this.#known.set(folder, {
      ...usage,
      bytes: usage.bytes + added.bytes,
      entries: usage.entries + added.entries,
    });
  }

  #recall(folder: string, stamp: number | undefined): Known | undefined {
    const known = this.#known.get(folder);
    if (!known) return undefined;
    if (known.stamp !== stamp) return undefined;
    return stamp !== undefined || this.#now() - known.at < freshMs ? known : undefined;
  }

  async #measure(folder: string, stamp: number | undefined): Promise<Known> {
    const at = this.#now();
    if (this.#known.size >= mostKnown) this.#known.clear();
    return { ...(await this.#options.measure(folder)), stamp, at };
  }
}

function full({ bytes, entries }: FolderUsage, asked: number, most: FolderUsage): SecboxError {
  return new SecboxError(
    'storage_full',
    `The sandbox has ${bytes} bytes in ${entries} files and folders; it may have ${most.bytes} in ${most.entries}.`,
    { details: { taken: bytes, asked, most: most.bytes, entries, most_entries: most.entries } },
  );
}
