import type { ContainerEngine, OwnedContainer, StartedContainer } from '@secbox/container-engine';
import { isExecId } from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import { RecentSet } from '../recent-set.js';
import type { ExecRecords } from '../runner-options.js';
import { pause } from '../pause.js';

export interface ReconcilerOptions {
  readonly engine: Pick<ContainerEngine, 'watchStarts'>;
  readonly records: Pick<ExecRecords, 'find'>;
  readonly dataDir: string;
  readonly logger: Logger;
  /** Whether the pool made this container. */
  readonly isPooled: (containerId: string) => boolean;
  readonly retryMs?: number;
}

export interface UnaccountedContainer {
  readonly container: string;
  readonly exec_id: string | null;
  /** Null of one that was found, and not heard to start. */
  readonly started_at: string | null;
  readonly why: string;
}

/** What the engine started, held against what we recorded. */
export interface Account {
  /** Whether the engine tells us at this moment. */
  readonly listening: boolean;
  readonly started: number;
  readonly unaccounted_total: number;
  /** The latest of them. */
  readonly unaccounted: readonly UnaccountedContainer[];
}

interface Noticed extends Pick<StartedContainer, 'id' | 'execId'> {
  readonly at: Date | undefined;
}

const keptUnaccounted = 20;
const retryMs = 1000;

/**
 * Proves the account: the engine says, by itself, which containers with our label it starts, and for each
 * there must be a row that says so. One without is an alarm: something ran that nobody recorded.
 */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #closing = new AbortController();
  readonly #unaccounted: UnaccountedContainer[] = [];
  readonly #seen = new RecentSet();
  readonly #told = new RecentSet();
  #listening = false;
  #begun = new Date();
  #started = 0;
  #unaccountedTotal = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  begin(): void {
    this.#begun = new Date();
    this.#running = this.#watch(this.#begun);
  }

  account(): Account {
    return {
      listening: this.#listening,
      started: this.#started,
      unaccounted_total: this.#unaccountedTotal,
      unaccounted: this.#unaccounted,
    };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  /**
   * Holds a container that nobody runs any more against the rows, before it is removed: it may have been started when
   * nobody listened. Those of a pool name no exec, and whoever took one of them was recorded first.
   */
  async found({ id, execId, purpose, started }: OwnedContainer): Promise<void> {
    const isForNobody = execId === '' && (purpose === 'pool' || purpose === 'self-test');
    const why = started && !isForNobody ? await this.#unrecorded(execId) : undefined;
    if (why !== undefined)
      this.#alarm({ id, execId: execId === '' ? undefined : execId, at: undefined }, why);
  }

  /** An engine that went away is listened to again, from where it was heard last. */
  async #watch(since: Date): Promise<void> {
    const { engine, dataDir, logger } = this.#options;
    const { signal } = this.#closing;
    let from = since;
    while (!signal.aborted) {
      try {
        const starts = await engine.watchStarts(dataDir, from, signal);
        this.#listening = true;
        for await (const started of starts) {
          await this.#check(started);
          from = started.at;
        }
      } catch (error) {
        logger.debug('account.not_listening', { error });
      }
      this.#listening = false;
      await pause(this.#options.retryMs ?? retryMs, signal);
    }
  }

  async #check(started: StartedContainer): Promise<void> {
    // Heard again after the engine was away: the times that it is asked with are whole seconds.
    const key = `${started.id} ${started.at.getTime()}`;
    if (this.#seen.has(key)) return;
    const why = await this.#missing(started);
    this.#seen.add(key);
    this.#started += 1;
    if (why !== undefined) this.#alarm(started, why);
  }

  /** What is missing in the record of a container; undefined when all is there. A database that is away is waited for. */
  async #missing({ id, execId, purpose, at }: StartedContainer): Promise<string | undefined> {
    if (purpose === 'self-test' && execId === undefined) return undefined;
    // Whoever takes one of the pool is recorded first; what an earlier server's pool made was removed at our start.
    if (purpose === 'pool' && execId === undefined) {
      return at < this.#begun || this.#options.isPooled(id) ? undefined : 'the pool did not make it';
    }
    if (execId === undefined) return 'it names no exec';
    for (;;) {
      try {
        return await this.#unrecorded(execId);
      } catch (error) {
        await pause(this.#options.retryMs ?? retryMs, this.#closing.signal);
        if (this.#closing.signal.aborted) throw error;
      }
    }
  }

  async #unrecorded(execId: string): Promise<string | undefined> {
    if (!isExecId(execId)) return 'it names no exec';
    const record = await this.#options.records.find(execId);
    if (!record) return 'there is no row of its exec';
    return record.started_at === null ? 'its row does not say that it started' : undefined;
  }

  /** Once for each container, however it was noticed. */
  #alarm({ id, execId, at }: Noticed, why: string): void {
    if (this.#told.has(id)) return;
    this.#told.add(id);
    const found = { container: id, exec_id: execId ?? null, started_at: at?.toISOString() ?? null, why };
    this.#unaccountedTotal += 1;
    this.#unaccounted.unshift(found);
    this.#unaccounted.splice(keptUnaccounted);
    this.#options.logger.error('account.container_unaccounted', { ...found });
  }
}
