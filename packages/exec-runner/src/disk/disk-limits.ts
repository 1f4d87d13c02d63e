import { join } from 'node:path';
import { SecboxError, type ExecId } from '@secbox/contracts';
import { openHostMounts, WorkDisks, type HostMounts } from '@secbox/host-mounts';
import type { Logger } from '@secbox/logging';
import type { ExecFolders } from '@secbox/workspace';
import { aborted } from '../aborted.js';
import type { StopReason } from '../exec-outcome.js';
import type { ExecProcesses } from '../executors/executor.js';
import { proveDisks, type DiskProof, type DiskVerdict } from './disk-proof.js';
import { DiskWatch, minFreeInodeShare } from './disk-watch.js';

export interface DiskSettings {
  /** The size of a project's work. */
  readonly workBytes: number;
  readonly minFreeBytes: number;
}

export interface DiskLimitsOptions extends DiskProof {
  readonly settings: () => DiskSettings;
  readonly logger: Logger;
  /** The compiled mounts helper; without it disks are mounted by the system's own program. */
  readonly mountsProgram?: string | undefined;
}

/** An exec as far as its files are concerned. */
export interface DiskExec {
  readonly execId: ExecId;
  readonly folders: Pick<ExecFolders, 'work' | 'artifacts' | 'disk'>;
  readonly maxArtifactsBytes: number;
  /** Its work is not worth a disk, as it ends with it. */
  readonly withoutDisk?: boolean;
  readonly stop: AbortSignal;
  /** Ends it before its time. */
  readonly end: (reason: StopReason) => void;
}

export interface DiskReport {
  readonly freeBytes: number;
  readonly totalBytes: number;
  readonly minFreeBytes: number;
  readonly belowFloor: boolean;
  readonly work: DiskVerdict & { readonly bytes: number };
}

const mebibyte = 1024 ** 2;
/** More files than this are not kept in any case, and their listing costs. */
const mostArtifacts = 50_000;
const bytesPerEntry = 8192;
const passingWork: DiskVerdict = { kind: 'soft', why: 'the work of one invocation' };

/** What an exec may hold in its artifacts while it runs; past its cap, but not past this, files are dropped at the end. */
export function artifactsLimit(maxArtifactsBytes: number): number {
  return Math.max(2 * maxArtifactsBytes, 64 * mebibyte);
}

/**
 * What execs may add to the host's disk: work by a disk of its own where the kernel can, else watched as artifacts
 * are; and a floor of free space below which nothing starts and what fills the disk is ended.
 */
export class DiskLimits {
  readonly #options: DiskLimitsOptions;
  readonly #disks: WorkDisks;
  #mounts: HostMounts | undefined;
  readonly #watch: DiskWatch;
  #verdict: Promise<DiskVerdict> | undefined;

  constructor(options: DiskLimitsOptions) {
    this.#options = options;
    this.#disks = new WorkDisks({ spareFolder: options.workspace.spareDisk });
    this.#watch = new DiskWatch({
      folders: [options.dataDir, options.workspace.root],
      pendingBytes: () => this.#disks.pendingBytes(),
      minFreeBytes: () => options.settings().minFreeBytes,
      logger: options.logger,
    });
  }

  /**
   * What a server that was killed left mounted is unmounted, and counted; whether disks can be used is being found out
   * from now on.
   */
  async begin(): Promise<number> {
    const { workspace, logger, mountsProgram: program } = this.#options;
    const unmounted = await WorkDisks.cleanUp(workspace.root);
    const roots = { sources: [workspace.root], targets: [workspace.root] };
    const opened = await openHostMounts({ program, roots, disks: true, logger });
    if (opened.available) {
      this.#mounts = opened.mounts;
      this.#disks.mountThrough(opened.mounts);
    }
    this.#prove().catch(() => undefined);
    return unmounted;
  }

  /** What is mounted below the workspace and is neither a disk in use, nor in a slot, nor of what is being tried. */
  async unheld(): Promise<string[]> {
    const { root, slotsRoot } = this.#options.workspace;
    const isElsewhere = (point: string) =>
      point === slotsRoot || point.startsWith(`${slotsRoot}/`) || point.startsWith(join(root, 'self-test'));
    return (await this.#disks.unheld(root)).filter((point) => !isElsewhere(point));
  }

  /** False when something on this host uses it. */
  unmountUnheld(point: string): Promise<boolean> {
    return this.#disks.unmountUnheld(point);
  }

  /** Whether the floor holds; below it nothing starts. */
  hasRoom(): boolean {
    return this.#watch.holds(this.#watch.free());
  }

  assertRoom(): void {
    const free = this.#watch.free();
    if (this.#watch.holds(free)) return;
    const { minFreeBytes } = this.#options.settings();
    throw new SecboxError(
      'disk_full',
      "The server's disk is nearly full; nothing starts until there is room again.",
      {
        details: {
          free_bytes: free.bytes,
          min_free_bytes: minFreeBytes,
          free_inodes_percent: free.inodeShare * 100,
          min_free_inodes_percent: minFreeInodeShare * 100,
        },
      },
    );
  }

  /** Runs the work with the exec's folders as they should be, and watches them meanwhile. */
  async during<T>(exec: DiskExec, work: () => Promise<T>): Promise<T> {
    const { workBytes } = this.#options.settings();
    const verdict = exec.withoutDisk === true ? passingWork : await unlessStopped(exec.stop, this.#prove());
    // Without room no disk can be made for it either.
    this.assertRoom();
    const release = await this.#hold(verdict, exec, workBytes);
    try {
      this.assertRoom();
      const limits = {
        artifacts: { bytes: artifactsLimit(exec.maxArtifactsBytes), entries: mostArtifacts },
        work: verdict.kind === 'hard' ? undefined : { bytes: workBytes, entries: workBytes / bytesPerEntry },
      };
      return await this.#watch.during({ ...exec, limits }, work);
    } finally {
      release();
    }
  }

  /** Has a project's work there without an exec; gives what lets go of it. */
  async holdWork(folders: Pick<ExecFolders, 'work' | 'disk'>): Promise<() => void> {
    const { workBytes } = this.#options.settings();
    return this.#hold(await this.#prove(), { folders, stop: new AbortController().signal }, workBytes);
  }

  started(execId: ExecId, processes: ExecProcesses): void {
    this.#watch.started(execId, processes);
  }

  /** The longest file that can be of use to an exec, in whichever folder. */
  maxFileBytes(maxArtifactsBytes: number): number {
    return Math.max(this.#options.settings().workBytes, artifactsLimit(maxArtifactsBytes));
  }

  async report(): Promise<DiskReport> {
    const { workBytes, minFreeBytes } = this.#options.settings();
    const free = this.#watch.free();
    const verdict = await this.#prove().catch((error: unknown): DiskVerdict => ({
      kind: 'soft',
      why: `not tried yet: ${error instanceof Error ? error.message : String(error)}`,
    }));
    return {
      freeBytes: free.bytes,
      totalBytes: free.totalBytes,
      minFreeBytes,
      belowFloor: !this.#watch.holds(free),
      work: { bytes: workBytes, ...verdict },
    };
  }

  /** Unmounts the work of a project that no exec uses; false when something else on this host does. */
  letGo({ work, disk }: Pick<ExecFolders, 'work' | 'disk'>): Promise<boolean> {
    return this.#disks.letGo({ folder: disk, mountPoint: work });
  }

  /** To be called when no exec runs any more. */
  async close(): Promise<void> {
    await this.#verdict?.catch(() => undefined);
    await this.#disks.close();
    await this.#mounts?.close();
  }

  async #hold(
    verdict: DiskVerdict,
    { folders, stop }: { readonly folders: Pick<ExecFolders, 'work' | 'disk'>; readonly stop: AbortSignal },
    bytes: number,
  ): Promise<() => void> {
    const place = { folder: folders.disk, mountPoint: folders.work };
    if (verdict.kind === 'soft') {
      WorkDisks.refuseIfMade(place, verdict.why);
      return () => undefined;
    }
    const holding = this.#disks.hold(place, bytes);
    return unlessStopped(stop, holding).catch((error: unknown) => {
      // Whoever was stopped meanwhile lets go of it when it has come.
      holding.then(
        (release) => release(),
        () => undefined,
      );
      throw error;
    });
  }

  /** Found out once; what could not be found out is tried again by the next who asks. */
  #prove(): Promise<DiskVerdict> {
    this.#verdict ??= proveDisks(this.#options).then(
      (verdict) => {
        this.#options.logger.info('disk.work_limit', { ...verdict });
        if (verdict.kind === 'hard') this.#disks.makeSpare(this.#options.settings().workBytes);
        return verdict;
      },
      (error: unknown) => {
        this.#verdict = undefined;
        throw error;
      },
    );
    return this.#verdict;
  }
}

async function unlessStopped<T>(stop: AbortSignal, waited: Promise<T>): Promise<T> {
  const settled = await Promise.race([waited.then((value) => ({ value })), aborted(stop)]);
  stop.throwIfAborted();
  if (!settled) throw stop.reason;
  return settled.value;
}
