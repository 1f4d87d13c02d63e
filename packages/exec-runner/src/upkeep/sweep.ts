import type { OwnedContainer } from '@secbox/container-engine';
import type { ExecId, ExecRecord } from '@secbox/contracts';
import { engineStep } from '../engine-step.js';
import { endInterrupted, type Recovery, type StrayCounts } from '../recover.js';
import { pause } from '../pause.js';
import { Abandoned, unlessAbandoned } from '../run-container.js';

export interface SweepOptions extends Omit<Recovery, 'vault'> {
  /** Whether this server is at it: then it is no stray, whatever it is. */
  readonly isUnderway: (execId: string) => boolean;
  /** Whether a container waits in the pool or was taken from it. */
  readonly isPooled: (containerId: string) => boolean;
  readonly mounts: SweptMounts;
  /** What was found already when this server started. */
  readonly found?: StrayCounts;
  readonly everyMs?: number;
}

/** What this server mounted on the host. */
export interface SweptMounts {
  /** Mount points that nothing but an exec can account for. */
  readonly unheld: () => Promise<readonly string[]>;
  /** False when it is in use. */
  readonly unmount: (point: string) => Promise<boolean>;
  /** Removes the slots that no container has, and says how many. */
  readonly sweepSlots: () => Promise<number>;
}

/** What was found that belongs to no exec of this server, from its start on. */
export interface Strays extends StrayCounts {
  readonly last_sweep_at: string | null;
}

const everyMs = 30_000;

/**
 * Looks again and again for what nobody owns: containers, rows, spools and mounts. Whatever is found twice in a row
 * is not on its way in or out any more, and goes: containers first, so that nothing of them runs, then rows.
 */
export class Sweep {
  readonly #options: SweepOptions;
  readonly #closing = new AbortController();
  #suspects = new Set<string>();
  readonly #found: { -readonly [Kind in keyof StrayCounts]: number };
  #lastAt: Date | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: SweepOptions) {
    this.#options = options;
    this.#found = { containers: 0, rows: 0, spools: 0, mounts: 0, ...options.found };
  }

  begin(): void {
    this.#running = this.#repeat();
  }

  strays(): Strays {
    return { ...this.#found, last_sweep_at: this.#lastAt?.toISOString() ?? null };
  }

  /** Ends a round that is at it; what the engine still owes it an answer to is left behind. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  /** One round. */
  async sweep(): Promise<void> {
    const { engine, workspace, records, dataDir, isUnderway, isPooled } = this.#options;
    const before = this.#suspects;
    const suspects = new Set<string>();
    const isStray = (kind: string, id: string) => {
      suspects.add(`${kind} ${id}`);
      return before.has(`${kind} ${id}`);
    };

    let alive = false;
    for (const container of await this.#unlessClosing(engine.listOwned(dataDir))) {
      const { id, execId } = container;
      if (isUnderway(execId) || isPooled(id)) continue;
      if (isStray('container', id)) await this.#removeContainer(container);
      else alive = true;
    }
    // While a container of nobody's may be alive, no row is said to be over.
    for (const record of alive ? [] : await records.unfinished()) {
      if (!isUnderway(record.exec_id) && isStray('row', record.exec_id)) await this.#endRow(record);
    }
    for (const execId of await workspace.spooled()) {
      if (isUnderway(execId) || !isStray('spool', execId) || (await this.#isUnfinished(execId))) continue;
      await workspace.removeSpool(execId);
      this.#found.spools += 1;
      this.#options.logger.warn('sweep.spool_removed', { exec_id: execId });
    }
    await this.#sweepMounts((point) => isStray('mount', point));
    this.#suspects = suspects;
    this.#lastAt = new Date();
  }

  async #repeat(): Promise<void> {
    const { signal } = this.#closing;
    const wait = () => pause(this.#options.everyMs ?? everyMs, signal);
    await wait();
    while (!signal.aborted) {
      await this.sweep().catch((error: unknown) => {
        if (!(error instanceof Abandoned)) this.#options.logger.warn('sweep.failed', { error });
      });
      await wait();
    }
  }

  async #removeContainer(container: OwnedContainer): Promise<void> {
    const { id, execId } = container;
    await this.#options.account.found(container);
    await this.#unlessClosing(engineStep('remove', undefined, this.#options.engine.remove(id)));
    this.#found.containers += 1;
    this.#options.logger.warn('sweep.container_removed', { container: id, exec_id: execId });
  }

  #unlessClosing<T>(answer: Promise<T>): Promise<T> {
    return unlessAbandoned(this.#closing.signal, answer);
  }

  /** Those of an exec have its id on their way. What is in use is tried again by the next round. */
  async #sweepMounts(isStray: (point: string) => boolean): Promise<void> {
    const { mounts, isUnderway, logger } = this.#options;
    for (const point of await mounts.unheld()) {
      if (point.split('/').some(isUnderway) || !isStray(point) || !(await mounts.unmount(point))) continue;
      this.#found.mounts += 1;
      logger.warn('sweep.unmounted', { point });
    }
    this.#found.mounts += await mounts.sweepSlots();
  }

  async #endRow(record: ExecRecord): Promise<void> {
    const reason = 'interrupted: nobody was running this exec any more';
    if (await endInterrupted(this.#options, record, reason)) this.#found.rows += 1;
  }

  /** The end of an exec may wait in its spool. */
  async #isUnfinished(execId: string): Promise<boolean> {
    const record = await this.#options.records.find(execId as ExecId);
    return record !== undefined && record.ended_at === null;
  }
}
