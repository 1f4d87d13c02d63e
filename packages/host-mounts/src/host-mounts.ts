import { lstat } from 'node:fs/promises';
import { SecboxError } from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import { isErrno } from '@secbox/workspace';
import { mountPointsBelow } from './mount-table.js';
import { MounterProcess } from './mounter-process.js';
import { limits, type MountRequest } from './protocol.js';

export interface HostMountsOptions {
  /** The compiled secbox-mounts; undefined where set-up could not make it. */
  readonly program: string | undefined;
  /** Absolute folders without a link on the way. */
  readonly roots: {
    /** Below these may lie what is mounted. */
    readonly sources: readonly string[];
    /** Below these may lie what it is mounted on. */
    readonly targets: readonly string[];
  };
  /** Whether images are to be mounted, too; else it has no way to. */
  readonly disks?: boolean;
  readonly logger: Logger;
}

export type OpenedHostMounts =
  | { readonly available: true; readonly mounts: HostMounts }
  | { readonly available: false; readonly reason: string };

export interface Bind {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

export interface DiskMount {
  readonly image: string;
  readonly target: string;
}

export interface Overlay {
  /** Topmost first. */
  readonly lower: readonly string[];
  /** Serves one mount at a time; that is for the caller to see to. */
  readonly upper: string;
  /** Empty, on the file system of `upper`. */
  readonly work: string;
  readonly target: string;
  readonly readOnly?: boolean;
}

/** Starts secbox-mounts, or says why this host goes without. */
export async function openHostMounts(options: HostMountsOptions): Promise<OpenedHostMounts> {
  const absent = (reason: string) => ({ available: false, reason }) as const;
  if (process.platform !== 'linux') return absent('folders are mounted on Linux only');
  if (process.getuid?.() !== 0) return absent('mounting folders needs root');
  if (options.program === undefined) return absent('set-up made no mounts helper (SECBOX_MOUNTS_PROGRAM)');
  const problem = await problemOf(options.program);
  if (problem !== undefined) return absent(problem);
  const mounts = new HostMounts(options.program, options);
  try {
    await mounts.start();
    return { available: true, mounts };
  } catch (error) {
    if (!(error instanceof SecboxError)) throw error;
    await mounts.close();
    return absent(error.message);
  }
}

/** What runs as root must be nobody else's to change. */
async function problemOf(program: string): Promise<string | undefined> {
  try {
    const found = await lstat(program);
    if (!found.isFile()) return `${program} is no file`;
    if (found.uid !== 0 || (found.mode & 0o022) !== 0) return `others than root may write ${program}`;
    return undefined;
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return `there is no ${program}`;
    throw error;
  }
}

/**
 * Mounts folders through a program that may do nothing else, and that checks every path itself. Mounts outlive both it
 * and us. Should it die, what was asked of it fails, possibly after it was done, and the next request starts it again.
 */
export class HostMounts {
  readonly #program: string;
  readonly #args: readonly string[];
  readonly #targets: readonly string[];
  readonly #logger: Logger;
  readonly #shared = new Set<string>();
  #running: MounterProcess | undefined;
  #closed = false;

  constructor(program: string, { roots, disks = false, logger }: Omit<HostMountsOptions, 'program'>) {
    this.#program = program;
    this.#targets = roots.targets;
    this.#args = [
      ...(disks ? ['--disks'] : []),
      ...roots.sources.flatMap((root) => ['--source', root]),
      ...roots.targets.flatMap((root) => ['--target', root]),
    ];
    this.#logger = logger;
  }

  /** Of the program that runs now. */
  get pid(): number | undefined {
    return this.#running?.pid;
  }

  start(): Promise<void> {
    return this.#process().started;
  }

  /** Shows a folder at another place, nosuid and nodev; one that something is mounted on already is refused. */
  bind({ source, target, readOnly }: Bind): Promise<void> {
    return this.#send({ verb: 'bind', readOnly, paths: [source, target] });
  }

  /**
   * Mounts an image of ext4, nosuid, nodev and noatime, on a loop device that goes with it. Where it is attached to one
   * already, this would be a second file system on the same bytes: that is for the caller to see to.
   */
  disk({ image, target }: DiskMount): Promise<void> {
    return this.#send({ verb: 'disk', paths: [image, target] });
  }

  overlay({ lower, upper, work, target, readOnly = false }: Overlay): Promise<void> {
    if (lower.length === 0 || lower.length > limits.lower) {
      return Promise.reject(invalid(`an overlay has 1 to ${limits.lower} lower folders`));
    }
    return this.#send({ verb: 'overlay', readOnly, paths: [target, upper, work, ...lower] });
  }

  /** Afterwards nothing is mounted on the folder. Who still uses what was there keeps it until they let go. */
  unmount(target: string): Promise<void> {
    this.#shared.delete(target);
    return this.#send({ verb: 'unmount', paths: [target] });
  }

  /**
   * Makes a root of targets a mount whose changes reach the containers; fine when it is one. Should somebody unmount it,
   * what is to be mounted below it is refused (ESTALE) until it is shared again.
   */
  async share(root: string): Promise<void> {
    await this.#send({ verb: 'share', paths: [root] });
    this.#shared.add(root);
  }

  /** Mount points at and below the roots of targets, deepest first. Reading them needs no right, and no program. */
  async list(): Promise<string[]> {
    const lists = await Promise.all(this.#targets.map((root) => mountPointsBelow(root, { itself: true })));
    return lists.flat();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#running?.close();
  }

  #send(request: MountRequest): Promise<void> {
    if (this.#closed) return Promise.reject(new SecboxError('mount_failed', 'The mounts helper is closed.'));
    try {
      return this.#process().send(request);
    } catch (error) {
      if (error instanceof RangeError) return Promise.reject(invalid(error.message));
      throw error;
    }
  }

  #process(): MounterProcess {
    if (this.#running && !this.#running.isOver) return this.#running;
    const again = this.#running !== undefined;
    const running = new MounterProcess(this.#program, this.#args);
    this.#running = running;
    if (again) this.#logger.warn('mounts.helper_restarted', { pid: running.pid });
    // Whoever waits for something else is told if it does not come up.
    for (const root of this.#shared) running.send({ verb: 'share', paths: [root] }).catch(() => undefined);
    return running;
  }
}

function invalid(why: string): SecboxError {
  return new SecboxError('mount_failed', `A folder cannot be mounted: ${why}.`, {
    details: { errno: 'EINVAL', step: 'request' },
  });
}
