import type { ContainerLimits } from '@secbox/container-engine';
import type { Logger } from '@secbox/logging';
import { Background } from '../background.js';
import { RecentSet } from '../recent-set.js';
import { settledWithin } from '../settled-within.js';
import {
  hasLimits,
  isAsUsual,
  limitsOf,
  serves,
  WarmContainer,
  type WarmParts,
  type WarmSpec,
} from './warm-container.js';

export interface PoolOptions extends WarmParts {
  readonly logger: Logger;
  /** What an exec gets that asks for nothing special, at this moment; undefined when none can be made ahead. */
  readonly usual: () => Promise<WarmSpec | undefined>;
  /** How many of such are to wait. */
  readonly size: () => number;
  readonly maxAgeMs?: number;
}

export interface PoolFigures {
  readonly waiting: number;
  readonly starting: number;
  /** How many execs got one, and how many found none. */
  readonly taken_total: number;
  readonly missed_total: number;
  /** Why the last one could not be started; null when it could. */
  readonly last_error: string | null;
}

interface Starting {
  readonly spec: WarmSpec;
  readonly container: Promise<WarmContainer | undefined>;
}

/** Nobody tells us of a container that died. */
const tendMs = 2000;
/** An exec that has just taken one is left alone for so long: most are over by then. */
const refillDelayMs = 40;
/** More at once take as long each as they take together. */
const startedAtOnce = 2;
/**
 * How far into one start the next may begin, of what the last one took. Two that begin together slow each other down and
 * arrive together: whoever takes one after the other would wait longer for the first than for a container of its own.
 */
const headStart = 0.5;
/** One that took longer than this says nothing of the next. */
const longestHeadStartMs = 500;
const maxAgeMs = 15 * 60_000;
const longestPauseMs = 60_000;
/** How often it is looked up whether the usual has become another, such as an image that was built anew. */
const lookUpMs = 15_000;
/** How long a server that stops waits for an engine to remove what waits: the next one removes what is left. */
const closeMs = 10_000;

/**
 * Containers that were started ahead. Each serves one exec, which takes it out for good. Nobody waits for the pool: who
 * finds none, and none on its way, makes a container of its own.
 */
export class Pool {
  readonly #options: PoolOptions;
  /** From their creation to their removal, whatever became of them. */
  readonly #present = new Set<string>();
  readonly #made = new RecentSet();
  #waiting: WarmContainer[] = [];
  /** Those that nobody has claimed. */
  readonly #starting = new Set<Starting>();
  #startsUnderway = 0;
  /** When a container was last begun, here or by an exec that found none. */
  #begunAt = -Infinity;
  #lastStartMs = 0;
  /** What could not be removed yet. */
  readonly #stuck = new Set<WarmContainer>();
  readonly #background = new Background();
  /** Of the last exec: the next is most often like it, and to change them takes longer than all else. */
  #lastLimits: ContainerLimits | undefined;
  #usual: { readonly spec: WarmSpec | undefined; readonly at: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #due = Infinity;
  #closing = false;
  #pausedUntil = 0;
  #failures = 0;
  #lastError: string | null = null;
  #taken = 0;
  #missed = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  begin(): void {
    this.#tendIn(0);
  }

  /** Something that decides what is usual has changed. */
  refresh(): void {
    this.#usual = undefined;
    this.#tendIn(0);
  }

  figures(): PoolFigures {
    return {
      waiting: this.#waiting.length,
      starting: this.#startsUnderway,
      taken_total: this.#taken,
      missed_total: this.#missed,
      last_error: this.#lastError,
    };
  }

  /** Whether it is ours: waits, serves an exec, or is on its way in or out. */
  has(containerId: string): boolean {
    return this.#present.has(containerId);
  }

  /** Whether it was made here, even if it is gone by now. */
  made(containerId: string): boolean {
    return this.#made.has(containerId);
  }

  /** One that waits, or the next on its way that nobody has claimed; undefined when there is none. */
  async take(asked: WarmSpec): Promise<WarmContainer | undefined> {
    this.#tendIn(refillDelayMs);
    this.#lastLimits = limitsOf(asked);
    const container = this.#takeWaiting(asked) ?? (await this.#claim(asked));
    if (container) {
      this.#taken += 1;
    } else {
      this.#missed += 1;
      this.#begunAt = performance.now();
    }
    return container;
  }

  /** For one that was taken and not used. */
  giveBack(container: WarmContainer): void {
    if (this.#closing || container.gone) this.discard(container);
    else this.#waiting.push(container);
  }

  /** For one in which nothing ran or will. */
  discard(container: WarmContainer): void {
    this.#background.add(this.#remove(container));
  }

  /** For one that has served and is dead. */
  async release(container: WarmContainer): Promise<void> {
    try {
      await container.release();
      this.#present.delete(container.id);
    } catch (error) {
      this.#options.logger.warn('pool.slot_left', { container: container.id, error });
      this.#stuck.add(container);
    }
  }

  /** Starts no more, and removes what waits. To be called when no exec runs any more. */
  async close(): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#timer);
    for (const container of [...this.#waiting.splice(0), ...this.#stuck]) this.discard(container);
    await settledWithin(closeMs, this.#background.settled());
  }

  #takeWaiting(asked: WarmSpec): WarmContainer | undefined {
    const fit = this.#waiting.filter((container) => !container.gone && serves(container.spec, asked));
    const taken = fit.find((container) => hasLimits(container.spec, asked)) ?? fit[0];
    if (taken) this.#waiting.splice(this.#waiting.indexOf(taken), 1);
    return taken;
  }

  #claim(asked: WarmSpec): Promise<WarmContainer | undefined> | undefined {
    for (const starting of this.#starting) {
      if (!serves(starting.spec, asked)) continue;
      this.#starting.delete(starting);
      return starting.container;
    }
    return undefined;
  }

  #tendIn(ms: number): void {
    const due = performance.now() + ms;
    if (this.#closing || due >= this.#due) return;
    clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = setTimeout(() => {
      this.#due = Infinity;
      this.#background.add(this.#tend());
      this.#tendIn(tendMs);
    }, ms).unref();
  }

  /** Lets go of what cannot be used any more, and starts what is missing. */
  async #tend(): Promise<void> {
    for (const container of this.#stuck) this.discard(container);
    this.#stuck.clear();
    try {
      const usual = await this.#findUsual();
      const size = usual === undefined ? 0 : this.#options.size();
      const youngest = performance.now() - (this.#options.maxAgeMs ?? maxAgeMs);
      const isFit = (container: WarmContainer) =>
        !container.gone &&
        usual !== undefined &&
        isAsUsual(container.spec, usual) &&
        container.startedAt > youngest;
      const fit = this.#waiting.filter(isFit);
      const unfit = this.#waiting.filter((container) => !isFit(container));
      for (const container of [...unfit, ...fit.splice(size)]) this.discard(container);
      this.#waiting = fit;
      if (usual) this.#refill(this.#likeTheLast(usual), size);
    } catch (error) {
      this.#failed(error);
    }
  }

  async #findUsual(): Promise<WarmSpec | undefined> {
    const now = performance.now();
    if (!this.#usual || now - this.#usual.at > lookUpMs) {
      this.#usual = { spec: await this.#options.usual(), at: now };
    }
    return this.#usual.spec;
  }

  /** What waits never holds more memory than was reckoned with. */
  #likeTheLast(usual: WarmSpec): WarmSpec {
    const last = this.#lastLimits;
    return last && last.memoryBytes <= usual.memoryBytes ? { ...usual, ...last } : usual;
  }

  #refill(spec: WarmSpec, size: number): void {
    while (
      !this.#closing &&
      performance.now() >= this.#pausedUntil &&
      this.#startsUnderway < startedAtOnce &&
      this.#waiting.length + this.#starting.size < size
    ) {
      const early =
        this.#begunAt + Math.min(this.#lastStartMs * headStart, longestHeadStartMs) - performance.now();
      if (early > 0) {
        this.#tendIn(early);
        return;
      }
      const starting: Starting = { spec, container: this.#start(spec) };
      this.#starting.add(starting);
      this.#background.add(starting.container.then((container) => this.#arrived(starting, container)));
    }
  }

  async #start(spec: WarmSpec): Promise<WarmContainer | undefined> {
    this.#startsUnderway += 1;
    const begunAt = performance.now();
    this.#begunAt = begunAt;
    let created: string | undefined;
    try {
      const container = await WarmContainer.start(this.#options, spec, (id) => {
        created = id;
        this.#made.add(id);
        this.#present.add(id);
      });
      this.#lastStartMs = performance.now() - begunAt;
      this.#failures = 0;
      this.#lastError = null;
      return container;
    } catch (error) {
      if (created !== undefined) this.#present.delete(created);
      this.#failed(error);
      return undefined;
    } finally {
      this.#startsUnderway -= 1;
    }
  }

  #arrived(starting: Starting, container: WarmContainer | undefined): void {
    // Whoever claimed it meanwhile has it.
    if (this.#starting.delete(starting) && container) this.giveBack(container);
    if (container) this.#tendIn(0);
  }

  /** Tried again, more and more rarely: without a pool everything goes on, only slower. */
  #failed(error: unknown): void {
    this.#usual = undefined;
    this.#lastError = error instanceof Error ? error.message : String(error);
    this.#pausedUntil = performance.now() + Math.min(longestPauseMs, 1000 * 2 ** this.#failures);
    this.#failures += 1;
    if (!this.#closing) this.#options.logger.warn('pool.not_filled', { error, failures: this.#failures });
  }

  async #remove(container: WarmContainer): Promise<void> {
    try {
      await container.remove();
      this.#present.delete(container.id);
    } catch (error) {
      this.#options.logger.warn('pool.container_left', { container: container.id, error });
      this.#stuck.add(container);
    }
  }
}
