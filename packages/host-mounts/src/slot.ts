import { rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { SecboxError } from '@secbox/contracts';
import { isErrno, type SlotId, type WorkspaceMounts } from '@secbox/workspace';
import type { HostMounts } from './host-mounts.js';

export const slotFolders = ['inputs', 'work', 'artifacts'] as const;

export interface SlotOptions {
  readonly id: SlotId;
  readonly folder: string;
  readonly mounts: HostMounts;
  readonly onRemoved: () => void;
}

/** What one container sees of the host: nothing, then the folders of one exec, then nothing again. */
export class Slot {
  readonly id: SlotId;
  readonly inputs: string;
  readonly work: string;
  readonly artifacts: string;
  readonly #options: SlotOptions;
  /** Settles when it is filled, or failed to be; undefined as long as nobody tried. */
  #filling: Promise<void> | undefined;
  #over = false;

  constructor(options: SlotOptions) {
    this.id = options.id;
    this.inputs = join(options.folder, 'inputs');
    this.work = join(options.folder, 'work');
    this.artifacts = join(options.folder, 'artifacts');
    this.#options = options;
  }

  /** Once only, as a container serves one exec. When it fails, nothing is mounted. */
  fill(sources: WorkspaceMounts): Promise<void> {
    if (this.#filling !== undefined || this.#over) {
      return Promise.reject(new SecboxError('mount_failed', `The slot ${this.id} was used already.`));
    }
    this.#filling = this.#fill(sources);
    return this.#filling;
  }

  /** Takes everything out of it, for good; who still uses a file of it keeps that. */
  async empty(): Promise<void> {
    this.#over = true;
    await this.#filling?.catch(() => undefined);
    await emptySlot(this.#options.mounts, this.#options.folder);
  }

  /** Empties it, and removes its folders. What cannot be removed is nobody's from then on: the next sweep tries again. */
  async remove(): Promise<void> {
    try {
      await this.empty();
      await removeSlot(this.#options.folder);
    } finally {
      this.#options.onRemoved();
    }
  }

  async #fill({ inputs, work, artifacts, readOnlyWork = false }: WorkspaceMounts): Promise<void> {
    const { mounts, folder } = this.#options;
    const bound = await Promise.allSettled([
      mounts.bind({ source: inputs, target: this.inputs, readOnly: true }),
      mounts.bind({ source: work, target: this.work, readOnly: readOnlyWork }),
      mounts.bind({ source: artifacts, target: this.artifacts, readOnly: false }),
    ]);
    const failed = bound.find((result) => result.status === 'rejected');
    if (failed === undefined) return;
    // Also those that failed: the helper may have died after it did as it was asked.
    await emptySlot(mounts, folder).catch(() => undefined);
    throw failed.reason;
  }
}

/** Unmounts whatever is mounted in a slot, of which anything may be missing. */
export async function emptySlot(mounts: HostMounts, folder: string): Promise<void> {
  const results = await Promise.allSettled(slotFolders.map((name) => mounts.unmount(join(folder, name))));
  for (const result of results) {
    if (result.status === 'rejected' && !isMissing(result.reason)) throw result.reason;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof SecboxError && error.details?.['errno'] === 'ENOENT';
}

/** Only ever by rmdir: what is still mounted, or not empty, stays and is an error. */
export async function removeSlot(folder: string): Promise<void> {
  for (const path of [...slotFolders.map((name) => join(folder, name)), folder]) {
    try {
      await rmdir(path);
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) throw error;
    }
  }
}
