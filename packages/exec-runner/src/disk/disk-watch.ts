import type { ExecId } from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import { StopReason } from '../exec-outcome.js';
import type { ExecProcesses } from '../executors/executor.js';
import { freeSpace, usedSpace, type FreeSpace } from './free-space.js';
import type { Usage } from './folder-usage.js';
import { measureExec, type ExecUsage } from './measure-exec.js';

export interface DiskWatchOptions {
  /** Folders on the file systems that must not become full. */
  readonly folders: readonly string[];
  /** What will be written there although nobody writes it any more. */
  readonly pendingBytes: () => number;
  readonly minFreeBytes: () => number;
  readonly logger: Logger;
}

export interface WatchedExec {
  readonly execId: ExecId;
  readonly folders: { readonly work: string; readonly artifacts: string };
  readonly limits: {
    readonly artifacts: Usage;
    /** Undefined where the kernel sees to it. */
    readonly work: Usage | undefined;
  };
  readonly end: (reason: StopReason) => void;
}

interface Watch extends WatchedExec {
  /** What was in use of a disk of its own when it began. */
  readonly usedAtFirst: number;
  processes: ExecProcesses | undefined;
  measureAgain: number;
  measuring: boolean;
  ended: boolean;
}

/** How often free space is looked at while something runs: one system call. */
const lookMs = 150;
/** Execs shorter than this are not measured. */
const measureMs = 1000;
/** Measuring may take this part of the time, however much there is to measure. */
const measuringShare = 0.1;
/** Ending an exec that added less would give nothing back. */
const leastWorthEnding = 1024 ** 2;
/** What cannot be measured is taken for the largest: else it would pay to prevent it. */
const unmeasured = Number.MAX_VALUE;
/** How long an exec that was ended has to give its space back before another has to go. */
const reliefMs = 1000;
/** Below this part of the floor there is no time to ask who it was. */
const lastResort = 0.25;
/** Of the file system's inodes, what stays free. */
export const minFreeInodeShare = 0.01;

/** Watches, while execs run, what the kernel does not limit: what they hold, and what is left of the disk. */
export class DiskWatch {
  readonly #options: DiskWatchOptions;
  readonly #execs = new Map<ExecId, Watch>();
  #timer: NodeJS.Timeout | undefined;
  #relieving = false;

  constructor(options: DiskWatchOptions) {
    this.#options = options;
  }

  async during<T>(exec: WatchedExec, work: () => Promise<T>): Promise<T> {
    this.#execs.set(exec.execId, {
      ...exec,
      usedAtFirst: exec.limits.work === undefined ? usedSpace(exec.folders.work) : 0,
      processes: undefined,
      measureAgain: performance.now() + measureMs,
      measuring: false,
      ended: false,
    });
    this.#schedule();
    try {
      return await work();
    } finally {
      this.#execs.delete(exec.execId);
    }
  }

  /** From now on its processes can be found. */
  started(execId: ExecId, processes: ExecProcesses): void {
    const watch = this.#execs.get(execId);
    if (watch) watch.processes = processes;
  }

  free(): FreeSpace {
    const { folders, pendingBytes } = this.#options;
    const space = freeSpace(folders);
    return { ...space, bytes: Math.max(0, space.bytes - pendingBytes()) };
  }

  /** Whether so much is free that nothing has to be ended. */
  holds(free: FreeSpace, part = 1): boolean {
    return free.bytes >= this.#options.minFreeBytes() * part && free.inodeShare >= minFreeInodeShare * part;
  }

  #schedule(): void {
    if (this.#execs.size === 0 || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      try {
        this.#look();
      } catch (error) {
        this.#options.logger.error('disk.watch_failed', { error });
      }
      this.#timer = undefined;
      this.#schedule();
    }, lookMs);
  }

  #look(): void {
    const free = this.free();
    if (!this.holds(free, lastResort)) for (const watch of this.#running()) this.#endForRoom(watch, free);
    else if (!this.holds(free) && !this.#relieving) void this.#relieve(free);
    const now = performance.now();
    for (const watch of this.#running())
      if (!watch.measuring && now >= watch.measureAgain) void this.#check(watch);
  }

  /** Ends what holds more than it may. */
  async #check(watch: Watch): Promise<void> {
    const began = performance.now();
    const usage = await this.#measure(watch);
    const took = performance.now() - began;
    watch.measureAgain = performance.now() + Math.max(measureMs, took / measuringShare);
    const excess = usage && excessOf(usage, watch.limits);
    if (excess !== undefined) this.#end(watch, excess);
  }

  /** Ends the exec that added most to the disk, and gives it the time to be gone. */
  async #relieve(free: FreeSpace): Promise<void> {
    this.#relieving = true;
    try {
      const added = await Promise.all(
        [...this.#running()].map(async (watch) => ({ watch, bytes: await this.#addedBy(watch) })),
      );
      const [most] = added
        .filter(({ watch }) => this.#execs.get(watch.execId) === watch)
        .sort((a, b) => b.bytes - a.bytes);
      if (!most || most.bytes < leastWorthEnding) return;
      this.#endForRoom(most.watch, free);
      await new Promise((resolve) => setTimeout(resolve, reliefMs).unref());
    } finally {
      this.#relieving = false;
    }
  }

  async #addedBy(watch: Watch): Promise<number> {
    const usage = await this.#measure(watch);
    if (!usage) return unmeasured;
    const ownDisk = watch.limits.work === undefined ? usedOrNothing(watch.folders.work) : 0;
    return usage.artifacts.bytes + (usage.work?.bytes ?? 0) + Math.max(0, ownDisk - watch.usedAtFirst);
  }

  async #measure(watch: Watch): Promise<ExecUsage | undefined> {
    watch.measuring = true;
    try {
      return await measureExec({
        folders: watch.folders,
        watchesWork: watch.limits.work !== undefined,
        processes: watch.processes,
      });
    } catch (error) {
      this.#options.logger.warn('disk.not_measured', { exec_id: watch.execId, error });
      return undefined;
    } finally {
      watch.measuring = false;
    }
  }

  #endForRoom(watch: Watch, free: FreeSpace): void {
    const floor = Math.round(this.#options.minFreeBytes() / 1024 ** 2);
    const left =
      free.bytes < this.#options.minFreeBytes()
        ? `${free.bytes} bytes are free, less than the ${floor} MB`
        : `${(free.inodeShare * 100).toFixed(2)} % of the inodes are free, less than the ${minFreeInodeShare * 100} %`;
    this.#end(watch, `ended to keep the server's disk from filling up: ${left} that must be`);
  }

  #end(watch: Watch, reason: string): void {
    if (watch.ended) return;
    watch.ended = true;
    this.#options.logger.warn('disk.exec_ended', { exec_id: watch.execId, reason });
    watch.end(new StopReason('failed', reason));
  }

  /** One that has not started holds nothing that its end would give back; it waits for room like others. */
  *#running(): Generator<Watch> {
    for (const watch of this.#execs.values()) if (!watch.ended && watch.processes) yield watch;
  }
}

function usedOrNothing(folder: string): number {
  try {
    return usedSpace(folder);
  } catch {
    // It is not mounted any more.
    return 0;
  }
}

function excessOf(usage: ExecUsage, limits: WatchedExec['limits']): string | undefined {
  for (const folder of ['artifacts', 'work'] as const) {
    const [held, limit] = [usage[folder], limits[folder]];
    if (held === undefined || limit === undefined) continue;
    if (held.bytes > limit.bytes)
      return `ended: ${folder} held ${held.bytes} bytes, more than the ${limit.bytes} it may`;
    if (held.entries > limit.entries)
      return `ended: ${folder} held ${held.entries} files and folders, more than the ${limit.entries} it may`;
  }
  return undefined;
}
