import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { SecboxError } from '@secbox/contracts';
import { isErrno, sandboxOwner } from '@secbox/workspace';
import { fitImage } from './disk-image.js';
import type { HostMounts } from './host-mounts.js';
import { isAttached, isMounted, mountImage, unmount } from './mount-image.js';
import { mountPointsBelow } from './mount-table.js';
import { imageOf, makeDisk, type DiskPlace } from './move-into-image.js';
import { SpareImage } from './spare-image.js';

interface Disk {
  readonly place: DiskPlace;
  holders: number;
  mounted: boolean;
  /** Settles when it is mounted and usable. */
  ready: Promise<void>;
  idle?: NodeJS.Timeout;
  /** Settles when it is unmounted, or turned out to be in use. */
  leaving?: Promise<void>;
}

export interface WorkDisksOptions {
  /** How long a disk that nobody uses stays mounted, for the next exec of its project. */
  readonly idleMs?: number;
  /** Where a disk is made ahead, for the next new project; on the file system of the others. */
  readonly spareFolder?: string;
}

/** How long who has just got the spare disk is left alone before the next is made. */
const spareDelayMs = 500;

/** Mounts a project's disk for as long as somebody holds it. */
export class WorkDisks {
  readonly #idleMs: number;
  readonly #spare: SpareImage | undefined;
  readonly #disks = new Map<string, Disk>();
  #mounts: Pick<HostMounts, 'disk'> | undefined;
  #refill: NodeJS.Timeout | undefined;

  constructor({ idleMs = 10_000, spareFolder }: WorkDisksOptions = {}) {
    this.#idleMs = idleMs;
    this.#spare = spareFolder === undefined ? undefined : new SpareImage(spareFolder);
  }

  /** Mounts through this from now on, which takes a tenth of the time that the system's program takes. */
  mountThrough(mounts: Pick<HostMounts, 'disk'>): void {
    this.#mounts = mounts;
  }

  /** So that the next new project finds its disk made. */
  makeSpare(bytes: number): void {
    this.#spare?.prepare(bytes, sandboxOwner);
  }

  /**
   * Unmounts what a server that was killed left below its workspace, and says how much; what is in use stays, and is used
   * again.
   */
  static async cleanUp(root: string): Promise<number> {
    if (!mayUnmount()) return 0;
    const found = await mountPointsBelow(root);
    let left = found;
    for (;;) {
      const busy: string[] = [];
      for (const point of left) if (!(await unmount(point))) busy.push(point);
      // A disk that something was laid over is free once that is gone.
      if (busy.length === 0 || busy.length === left.length) return found.length - busy.length;
      left = busy;
    }
  }

  /** Refuses to go on without the disk that holds a project's files. */
  static refuseIfMade(place: DiskPlace, why: string): void {
    if (existsSync(imageOf(place))) throw unavailable(why);
  }

  /** Mounts the disk, making it or growing it to so many bytes first; gives what lets go of it. */
  async hold(place: DiskPlace, bytes: number): Promise<() => void> {
    for (;;) {
      const known = this.#disks.get(place.mountPoint);
      if (known?.leaving) await known.leaving;
      else return this.#holdNow(known, place, bytes);
    }
  }

  /** What is mounted below a folder and is no disk that somebody holds, or had until a moment ago; deepest first. */
  async unheld(root: string): Promise<string[]> {
    if (!mayUnmount()) return [];
    return (await mountPointsBelow(root)).filter((point) => !this.#holds(point));
  }

  /** Unmounts what {@link unheld} told of; who comes for it meanwhile waits. False when it is in use, or held by now. */
  async unmountUnheld(point: string): Promise<boolean> {
    if (this.#holds(point)) return false;
    const unmounting = unmount(point);
    const leaving = unmounting.then(ignore, ignore).then(() => void this.#disks.delete(point));
    const place = { folder: point, mountPoint: point };
    this.#disks.set(point, { place, holders: 0, mounted: false, ready: Promise.resolve(), leaving });
    return unmounting;
  }

  /**
   * What was written to mounted disks and takes no space of the host's yet, as the kernel writes later: it will, even
   * when whoever wrote it is gone.
   */
  pendingBytes(): number {
    const mounted = [...this.#disks.values()].filter((disk) => disk.mounted);
    return mounted.reduce((sum, { place }) => sum + pendingOf(place), 0);
  }

  /** Unmounts a disk at once that nobody will hold meanwhile; false when something on this host is using it. */
  async letGo(place: DiskPlace): Promise<boolean> {
    const known = this.#disks.get(place.mountPoint);
    // Whoever was stopped while it was being mounted lets go of it only then.
    await known?.ready.catch(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    if (known && known.holders > 0) return false;
    if (known) await this.#leave(known);
    return !isMounted(place.mountPoint) || unmount(place.mountPoint);
  }

  /** Unmounts everything; to be called when nobody holds a disk any more. */
  async close(): Promise<void> {
    clearTimeout(this.#refill);
    await Promise.all([...this.#disks.values()].map((disk) => this.#leave(disk)));
    await this.#spare?.close();
  }

  /** At its place, or where it is being filled. */
  #holds(point: string): boolean {
    return [...this.#disks.values()].some(
      ({ place }) => point === place.mountPoint || point.startsWith(`${place.folder}/`),
    );
  }

  async #holdNow(known: Disk | undefined, place: DiskPlace, bytes: number): Promise<() => void> {
    const disk = known ?? { place, holders: 0, mounted: false, ready: Promise.resolve() };
    this.#disks.set(place.mountPoint, disk);
    clearTimeout(disk.idle);
    // While somebody holds it, it is as that one found it.
    if (disk.holders === 0)
      disk.ready = disk.ready.catch(() => undefined).then(() => this.#open(place, bytes));
    disk.holders += 1;
    let held = true;
    const release = () => {
      if (held) this.#release(disk);
      held = false;
    };
    try {
      await disk.ready;
      disk.mounted = true;
      return release;
    } catch (error) {
      release();
      throw failureOf(error);
    }
  }

  async #open(place: DiskPlace, bytes: number): Promise<void> {
    if (isMounted(place.mountPoint)) {
      if (isWritable(place.mountPoint)) return;
      // The kernel stops writing to a disk that failed; unmounted, it can be mended.
      if (!(await unmount(place.mountPoint))) throw new Error('its disk failed and is in use');
    }
    const image = imageOf(place);
    if (!existsSync(image)) this.#makeSpareLater(bytes);
    await makeDisk(place, bytes, sandboxOwner, this.#spare);
    // A dying container's file system is not to be changed from below; who mounts it after that finds it fit.
    if (!isAttached(image)) await fitImage(image, bytes);
    await mountImage(image, place.mountPoint, sandboxOwner, this.#mounts);
  }

  #makeSpareLater(bytes: number): void {
    clearTimeout(this.#refill);
    this.#refill = setTimeout(() => this.makeSpare(bytes), spareDelayMs).unref();
  }

  #release(disk: Disk): void {
    disk.holders -= 1;
    if (disk.holders > 0) return;
    disk.idle = setTimeout(() => void this.#leave(disk), this.#idleMs);
    disk.idle.unref();
  }

  async #leave(disk: Disk): Promise<void> {
    clearTimeout(disk.idle);
    disk.mounted = false;
    // Where it is still in use it stays mounted, and whoever needs it next finds it so; else the sweep does.
    disk.leaving ??= disk.ready
      .then(() => unmount(disk.place.mountPoint))
      .then(
        () => this.#disks.delete(disk.place.mountPoint),
        () => this.#disks.delete(disk.place.mountPoint),
      )
      .then(() => undefined);
    await disk.leaving;
  }
}

function mayUnmount(): boolean {
  return process.platform === 'linux' && process.getuid?.() === 0;
}

function ignore(): void {
  // Whoever asked for it is told.
}

function pendingOf(place: DiskPlace): number {
  try {
    const { blocks, bfree, bsize } = statfsSync(place.mountPoint);
    const image = statSync(imageOf(place));
    // Larger than its image: somebody else unmounted it, and this is the host's disk.
    if (blocks * bsize > image.size) return 0;
    return Math.max(0, (blocks - bfree) * bsize - image.blocks * 512);
  } catch {
    // Its project is being removed.
    return 0;
  }
}

function isWritable(mountPoint: string): boolean {
  try {
    accessSync(mountPoint, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** The system's programs are asked to speak English. */
const noRoom = /no space left on device/i;

function failureOf(error: unknown): SecboxError {
  const why = error instanceof Error ? error.message : String(error);
  if (isErrno(error, 'ENOSPC', 'EDQUOT') || noRoom.test(why)) {
    const message = "The server's disk has no room for the disk of the project's work folder.";
    return new SecboxError('disk_full', message, { cause: error });
  }
  return unavailable(why, error);
}

function unavailable(why: string, cause?: unknown): SecboxError {
  return new SecboxError(
    'work_unavailable',
    `The disk of the project's work folder cannot be mounted: ${why}.`,
    {
      cause,
    },
  );
}
