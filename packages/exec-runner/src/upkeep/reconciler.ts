import type { ContainerEngine, StartedContainer } from '@secbox/container-engine';
import { parseExecId, SecboxError } from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import type { ExecRecords } from '../runner-options.js';
import { pause } from '../pause.js';

export interface ReconcilerOptions {
  readonly engine: Pick<ContainerEngine, 'watchStarts'>;
  readonly records: Pick<ExecRecords, 'find'>;
  readonly dataDir: string;
  readonly logger: Logger;
  readonly retryMs?: number;
}

export interface UnaccountedContainer {
  readonly container: string;
  readonly exec_id: string | null;
  readonly started_at: string;
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
  readonly #seen = new Set<string>();
  #listening = false;
  #started = 0;
  #unaccountedTotal = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  begin(): void {
    this.#running = this.#watch(new Date());
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
    const [oldest] = this.#seen;
    if (this.#seen.size > 10_000 && oldest !== undefined) this.#seen.delete(oldest);
    this.#started += 1;
    if (why !== undefined) this.#alarm(started, why);
  }

  /** What is missing in the record of a container; undefined when all is there. A database that is away is waited for. */
  async #missing({ execId, selfTest }: StartedContainer): Promise<string | undefined> {
    if (selfTest && execId === undefined) return undefined;
    if (execId === undefined) return 'it names no exec';
    for (;;) {
      try {
        const record = await this.#options.records.find(parseExecId(execId));
        if (!record) return 'there is no row of its exec';
        return record.started_at === null ? 'its row does not say that it started' : undefined;
      } catch (error) {
        if (error instanceof SecboxError && error.code === 'invalid_id') return 'it names no exec';
        await pause(this.#options.retryMs ?? retryMs, this.#closing.signal);
        if (this.#closing.signal.aborted) throw error;
      }
    }
  }

  #alarm({ id, execId, at }: StartedContainer, why: string): void {
    const found = { container: id, exec_id: execId ?? null, started_at: at.toISOString(), why };
    this.#unaccountedTotal += 1;
    this.#unaccounted.unshift(found);
    this.#unaccounted.splice(keptUnaccounted);
    this.#options.logger.error('account.container_unaccounted', { ...found });
  }
}
