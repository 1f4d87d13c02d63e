import type { ExecId, ExecRecord } from '@secbox/contracts';
import { endInterrupted, type Recovery, type StrayCounts } from '../recover.js';
import { pause } from '../pause.js';

export interface SweepOptions extends Omit<Recovery, 'vault'> {
  /** Whether this server is at it: then it is no stray, whatever it is. */
  readonly isUnderway: (execId: string) => boolean;
  /** What was found already when this server started. */
  readonly found?: StrayCounts;
  readonly everyMs?: number;
}

/** What was found that belongs to no exec of this server, from its start on. */
export interface Strays extends StrayCounts {
  readonly last_sweep_at: string | null;
}

const everyMs = 30_000;

/**
 * Looks again and again for what nobody owns: containers, rows and spools. Whatever is found twice in a row
 * is not on its way in or out any more, and goes: containers first, so that nothing of them runs, then rows.
 */
export class Sweep {
  readonly #options: SweepOptions;
  readonly #closing = new AbortController();
  #suspects = new Set<string>();
  readonly #found: { containers: number; rows: number; spools: number };
  #lastAt: Date | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: SweepOptions) {
    this.#options = options;
    this.#found = { containers: 0, rows: 0, spools: 0, ...options.found };
  }

  begin(): void {
    this.#running = this.#repeat();
  }

  strays(): Strays {
    return { ...this.#found, last_sweep_at: this.#lastAt?.toISOString() ?? null };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  /** One round. */
  async sweep(): Promise<void> {
    const { engine, workspace, records, dataDir, isUnderway } = this.#options;
    const before = this.#suspects;
    const suspects = new Set<string>();
    const isStray = (kind: string, id: string) => {
      suspects.add(`${kind} ${id}`);
      return before.has(`${kind} ${id}`);
    };

    let alive = false;
    for (const { id, execId } of await engine.listOwned(dataDir)) {
      if (isUnderway(execId)) continue;
      if (isStray('container', id)) await this.#removeContainer(id, execId);
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
    this.#suspects = suspects;
    this.#lastAt = new Date();
  }

  async #repeat(): Promise<void> {
    const { signal } = this.#closing;
    const wait = () => pause(this.#options.everyMs ?? everyMs, signal);
    await wait();
    while (!signal.aborted) {
      await this.sweep().catch((error: unknown) => this.#options.logger.warn('sweep.failed', { error }));
      await wait();
    }
  }

  async #removeContainer(id: string, execId: string): Promise<void> {
    await this.#options.engine.remove(id);
    this.#found.containers += 1;
    this.#options.logger.warn('sweep.container_removed', { container: id, exec_id: execId });
  }

  async #endRow(record: ExecRecord): Promise<void> {
    await endInterrupted(this.#options, record, 'interrupted: nobody was running this exec any more');
    this.#found.rows += 1;
  }

  /** The end of an exec may wait in its spool. */
  async #isUnfinished(execId: string): Promise<boolean> {
    const record = await this.#options.records.find(execId as ExecId);
    return record !== undefined && record.ended_at === null;
  }
}
