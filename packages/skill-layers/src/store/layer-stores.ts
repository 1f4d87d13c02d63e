import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Owner } from '@secbox/workspace';
import { AgentLocks } from './agent-locks.js';
import { BaselineStore } from './baseline-store.js';
import { DurableFiles } from './durable-files.js';
import { Holds } from './holds.js';
import { LayerPaths } from './layer-paths.js';
import { UserRecords } from './user-records.js';
import { type UserLimit, UserRoom } from './user-room.js';

export interface LayerStoresOptions {
  /** The product root; it must be there. */
  readonly root: string;
  /** Who gets the files that programs see; left out when this process runs as that user itself. */
  readonly owner?: Owner;
  readonly now?: () => Date;
  /** Asked with each change; as much as there is unless said otherwise. */
  readonly userLimit?: () => UserLimit;
  /** Told of what failed behind an answer, such as removing what nobody needs any more. */
  readonly failed?: (error: unknown) => void;
  /** Told before each step that a crash could come between; waited for. */
  readonly onStep?: (step: string) => Promise<void>;
}

/** What everything here is kept in. */
export class LayerStores {
  readonly paths: LayerPaths;
  readonly files: DurableFiles;
  readonly baselines: BaselineStore;
  readonly users: UserRecords;
  readonly room: UserRoom;
  readonly holds: Holds;
  readonly locks = new AgentLocks();
  readonly owner: Owner | undefined;
  readonly now: () => Date;
  /** Hears of what could not be removed, and harms nobody until the next start. */
  readonly failed: (error: unknown) => void;

  constructor(options: LayerStoresOptions) {
    const { root, owner, now = () => new Date(), failed = () => undefined, onStep, userLimit } = options;
    this.paths = new LayerPaths(root);
    this.owner = owner;
    this.now = now;
    this.failed = failed;
    this.files = new DurableFiles(owner, onStep);
    this.baselines = new BaselineStore(this.files, this.paths);
    this.users = new UserRecords(this.files, this.paths);
    this.room = new UserRoom(this.users, userLimit);
    this.holds = new Holds(failed);
  }

  async prepare(): Promise<void> {
    const { staging, execs, trash, baselines, overlays } = this.paths;
    for (const folder of [staging, execs, trash, baselines, overlays]) await this.files.ensureFolder(folder);
  }

  /** A place of its own for something that is being made, removed when `work` is over. */
  async withStaging<T>(work: (folder: string) => Promise<T>): Promise<T> {
    const folder = join(this.paths.staging, randomUUID());
    await this.files.ensureFolder(folder);
    try {
      return await work(folder);
    } finally {
      await this.files.removeTree(folder);
    }
  }
}
