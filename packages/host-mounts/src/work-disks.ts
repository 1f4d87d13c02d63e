import { access, constants, stat, statfs } from 'node:fs/promises';
import { SecboxError } from '@secbox/contracts';
import { isErrno, sandboxOwner } from '@secbox/workspace';
import { growImage, mendImage } from './disk-image.js';
import { isMounted, mountImage, unmount } from './mount-image.js';
import { mountPointsBelow } from './mount-table.js';
import { exists, imageOf, makeDisk, type DiskPlace } from './move-into-image.js';

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
}

/** Mounts a project's disk for as long as somebody holds it. */
export class WorkDisks {
  readonly #idleMs: number;
  readonly #disks = new Map<string, Disk>();

  constructor({ idleMs = 10_000 }: WorkDisksOptions = {}) {
    this.#idleMs = idleMs;
  }

  /** Unmounts what a server that was killed left below its workspace; what is in use stays, and is used again. */
  static async cleanUp(root: string): Promise<void> {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) return;
    for (const point of await mountPointsBelow(root)) await unmount(point);
  }

  /** Refuses to go on without the disk that holds a project's files. */
  static async refuseIfMade(place: DiskPlace, why: string): Promise<void> {
    if (await exists(imageOf(place))) throw unavailable(why);
  }

  /** Mounts the disk, making it or growing it to so many bytes first; gives what lets go of it. */
  async hold(place: DiskPlace, bytes: number): Promise<() => void> {
    for (;;) {
      const known = this.#disks.get(place.mountPoint);
      if (known?.leaving) await known.leaving;
      else return this.#holdNow(known, place, bytes);
    }
  }

  /**
   * What was written to mounted disks and takes no space of the host's yet, as the kernel writes later: it will, even
   * when whoever wrote it is gone.
   */
  async pendingBytes(): Promise<number> {
    const mounted = [...this.#disks.values()].filter((disk) => disk.mounted);
    const pending = await Promise.all(mounted.map(({ place }) => pendingOf(place).catch(() => 0)));
    return pending.reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Unmounts a disk at once that nobody will hold meanwhile; false when something on this host is using it. */
  async letGo(place: DiskPlace): Promise<boolean> {
    const known = this.#disks.get(place.mountPoint);
    // Whoever was stopped while it was being mounted lets go of it only then.
    await known?.ready.catch(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    if (known && known.holders > 0) return false;
    if (known) await this.#leave(known);
    return !(await isMounted(place.mountPoint).catch(absent)) || unmount(place.mountPoint);
  }

  /** Unmounts everything; to be called when nobody holds a disk any more. */
  async close(): Promise<void> {
    await Promise.all([...this.#disks.values()].map((disk) => this.#leave(disk)));
  }

  async #holdNow(known: Disk | undefined, place: DiskPlace, bytes: number): Promise<() => void> {
    const disk = known ?? { place, holders: 0, mounted: false, ready: Promise.resolve() };
    this.#disks.set(place.mountPoint, disk);
    clearTimeout(disk.idle);
    // While somebody holds it, it is as that one found it.
    if (disk.holders === 0) disk.ready = disk.ready.catch(() => undefined).then(() => open(place, bytes));
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
      throw unavailable(error instanceof Error ? error.message : String(error), error);
    }
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
    // Where it is still in use it stays mounted, and whoever needs it next finds it so.
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

async function open(place: DiskPlace, bytes: number): Promise<void> {
  if (await isMounted(place.mountPoint).catch(absent)) {
    if (await isWritable(place.mountPoint)) return;
    // The kernel stops writing to a disk that failed; unmounted, it can be mended.
    if (!(await unmount(place.mountPoint))) throw new Error('its disk failed and is in use');
  }
  await makeDisk(place, bytes, sandboxOwner);
  const image = imageOf(place);
  await mendImage(image);
  await growImage(image, bytes);
  await mountImage(image, place.mountPoint, sandboxOwner);
}

async function pendingOf(place: DiskPlace): Promise<number> {
  const [{ blocks, bfree, bsize }, image] = await Promise.all([
    statfs(place.mountPoint),
    stat(imageOf(place)),
  ]);
  // Larger than its image: somebody else unmounted it, and this is the host's disk.
  if (blocks * bsize > image.size) return 0;
  return Math.max(0, (blocks - bfree) * bsize - image.blocks * 512);
}

/** A crash may have left no folder to mount on; making the disk makes it. */
function absent(error: unknown): false {
  if (isErrno(error, 'ENOENT')) return false;
  throw error;
}

async function isWritable(mountPoint: string): Promise<boolean> {
  return access(mountPoint, constants.W_OK).then(
    () => true,
    () => false,
  );
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
