import { chmod, lstat, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { SecboxError } from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import { isErrno, type SlotId } from '@secbox/workspace';
import type { HostMounts } from './host-mounts.js';
import { emptySlot, removeSlot, Slot, slotFolders } from './slot.js';

export interface SlotsOptions {
  readonly mounts: HostMounts;
  /** A root of targets of `mounts`, whose parent folder is there. */
  readonly root: string;
  readonly logger: Logger;
}

export interface SweptSlots {
  readonly removed: number;
  /** Names of what could not be removed; the log says why. */
  readonly stuck: readonly string[];
}

export async function openSlots(options: SlotsOptions): Promise<Slots> {
  const { mounts, root } = options;
  await makeFolder(root, 0o700).catch((error: unknown) => {
    if (!isErrno(error, 'EEXIST')) throw error;
  });
  const found = await lstat(root);
  if (!found.isDirectory() || found.uid !== 0) {
    throw new SecboxError('mount_failed', `The folder of slots is not root's own: ${root}.`);
  }
  await mounts.share(root);
  return new Slots(options);
}

/**
 * Folders that containers are started with while it is open whose files they will see. Filling a slot shows them in the
 * container; nothing that is mounted is ever removed: folders go by rmdir, which takes neither a mount point nor a
 * folder with something in it.
 */
export class Slots {
  readonly root: string;
  readonly #mounts: HostMounts;
  readonly #logger: Logger;
  readonly #own = new Map<string, Slot>();

  constructor({ mounts, root, logger }: SlotsOptions) {
    this.root = root;
    this.#mounts = mounts;
    this.#logger = logger;
  }

  /** Empty folders of root's, which the sandbox's user can look into and not write. */
  async make(id: SlotId): Promise<Slot> {
    const folder = join(this.root, id);
    const slot = new Slot({ id, folder, mounts: this.#mounts, onRemoved: () => this.#own.delete(id) });
    if (this.#own.has(id)) throw new SecboxError('mount_failed', `The slot ${id} is there already.`);
    // Before its folder is there: a sweep may come by at any time.
    this.#own.set(id, slot);
    try {
      await makeFolder(folder, 0o700);
    } catch (error) {
      this.#own.delete(id);
      throw isErrno(error, 'EEXIST')
        ? new SecboxError('mount_failed', `The slot ${id} is there already.`, { cause: error })
        : error;
    }
    try {
      await Promise.all(slotFolders.map((name) => makeFolder(join(folder, name), 0o755)));
      return slot;
    } catch (error) {
      await slot.remove().catch(() => undefined);
      throw error;
    }
  }

  /**
   * Empties and removes every slot that is neither ours nor named: a server that was killed leaves its own behind, as
   * mounts outlive whoever made them. Its containers should be gone by then.
   */
  async sweep(live: ReadonlySet<string> = new Set()): Promise<SweptSlots> {
    const swept = { removed: 0, stuck: [] as string[] };
    for (const name of await readdir(this.root)) {
      if (live.has(name) || this.#own.has(name)) continue;
      try {
        await emptySlot(this.#mounts, join(this.root, name));
        await removeSlot(join(this.root, name));
        swept.removed += 1;
        this.#logger.info('slots.removed', { slot: name });
      } catch (error) {
        swept.stuck.push(name);
        this.#logger.warn('slots.stuck', { slot: name, error });
      }
    }
    return swept;
  }

  /** Removes every slot, and what made the root shared. To be called when no container uses one any more. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#own.values()].map((slot) => slot.remove()));
    this.#own.clear();
    const { stuck } = await this.sweep();
    // It goes with all that is below it.
    if (stuck.length === 0) await this.#mounts.unmount(this.root);
  }
}

async function makeFolder(path: string, mode: number): Promise<void> {
  await mkdir(path, { mode });
  // Whatever the umask is.
  await chmod(path, mode);
}
