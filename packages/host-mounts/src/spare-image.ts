import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno } from '@secbox/workspace';
import { makeImage, type Owner } from './disk-image.js';

interface Spare {
  readonly bytes: number;
  readonly path: string;
  /** Whether it could be made; never rejects. */
  readonly made: Promise<boolean>;
}

/** An image that is made before anybody asks for it: that takes longer than all else that a new project needs. */
export class SpareImage {
  readonly #folder: string;
  #emptied: Promise<unknown> | undefined;
  #spare: Spare | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #count = 0;

  /** The folder is emptied first: how much of an image survived the death of a server, nobody knows. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Makes one, unless there is one of this size. */
  prepare(bytes: number, owner: Owner): void {
    const old = this.#spare;
    if (old?.bytes === bytes) return;
    this.#count += 1;
    const path = join(this.#folder, `${this.#count}.img`);
    const made = this.#last.then(() => this.#make(path, bytes, owner));
    this.#last = made;
    this.#spare = { bytes, path, made };
    // What stays goes with the folder.
    if (old) old.made.then(() => rm(old.path, { force: true })).catch(() => undefined);
  }

  /** Puts it in this place; false when there is none of this size. Of several who ask, one gets it. */
  async take(bytes: number, place: string): Promise<boolean> {
    const spare = this.#spare;
    if (spare?.bytes !== bytes) return false;
    this.#spare = undefined;
    if (!(await spare.made)) return false;
    try {
      await rename(spare.path, place);
      return true;
    } catch (error) {
      // Somebody cleared the folder.
      if (isErrno(error, 'ENOENT')) return false;
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#spare = undefined;
    await this.#last;
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #make(path: string, bytes: number, owner: Owner): Promise<boolean> {
    try {
      this.#emptied ??= rm(this.#folder, { recursive: true, force: true }).then(() =>
        mkdir(this.#folder, { mode: 0o700 }),
      );
      await this.#emptied;
      await makeImage(path, bytes, owner);
      return true;
    } catch {
      // No room, or no mkfs: whoever needs a disk makes it, and is told why when that fails.
      return false;
    }
  }
}
