import { hasInit, type ContainerEngine, type EngineImage } from '@secbox/container-engine';
import { openHostMounts, openSlots, type HostMounts, type Slots } from '@secbox/host-mounts';
import type { Logger } from '@secbox/logging';
import type { Workspace } from '@secbox/workspace';
import { pause } from '../pause.js';
import { Pool, type PoolFigures } from './pool.js';
import { proveSlots, type SlotsVerdict } from './prove-slots.js';
import type { WarmContainer, WarmSpec } from './warm-container.js';

export interface WarmStartsOptions {
  readonly engine: ContainerEngine;
  readonly workspace: Workspace;
  readonly dataDir: string;
  readonly logger: Logger;
  /** The compiled mounts helper; undefined where set-up could not make it. */
  readonly mountsProgram: string | undefined;
  readonly findImage: () => Promise<EngineImage>;
  readonly imageReference: string;
  /** What an exec gets that asks for nothing special. */
  readonly usual: (image: EngineImage) => WarmSpec;
  /** How many containers wait at most. */
  readonly size: () => number;
  readonly engineMemoryBytes: number;
  /** After which one that waits is replaced. */
  readonly maxAgeMs?: number;
}

/** Whether execs find their container started, and if not, why. */
export type WarmReport =
  | ({ readonly warm: true; readonly size: number } & PoolFigures)
  | { readonly warm: false; readonly why: string };

/** What all that wait may use together, of the engine's memory. */
const memoryShare = 0.25;
const retryMs = 5000;

/**
 * Keeps a pool of started containers where this host can show them files later: that is tried once, from inside a
 * container, for each runtime. Where it cannot, every exec gets a container of its own from the start.
 */
export class WarmStarts {
  readonly #options: WarmStartsOptions;
  readonly #closing = new AbortController();
  /** Found out once each: two trials at once would take away each other's folders. */
  readonly #verdicts = new Map<string, Promise<SlotsVerdict>>();
  #opening: Promise<void> = Promise.resolve();
  #mounts: HostMounts | undefined;
  #slots: Slots | undefined;
  #pool: Pool | undefined;
  #why: string | undefined = 'it is being tried';
  /** How many of the usual there is memory for. */
  #most = 0;

  constructor(options: WarmStartsOptions) {
    this.#options = options;
  }

  /** What a server that was killed left in slots is taken out first; its containers are gone by now. */
  begin(): void {
    this.#opening = this.#open();
  }

  report(): WarmReport {
    const size = this.#options.size();
    if (size === 0) return { warm: false, why: 'sandbox.pool_size is 0' };
    if (this.#why !== undefined || !this.#pool) return { warm: false, why: this.#why ?? 'it is being tried' };
    return { warm: true, size: Math.min(size, this.#most), ...this.#pool.figures() };
  }

  refresh(): void {
    this.#pool?.refresh();
  }

  has(containerId: string): boolean {
    return this.#pool?.has(containerId) === true;
  }

  made(containerId: string): boolean {
    return this.#pool?.made(containerId) === true;
  }

  async take(asked: WarmSpec): Promise<WarmContainer | undefined> {
    return this.#pool?.take(asked);
  }

  giveBack(container: WarmContainer): void {
    this.#pool?.giveBack(container);
  }

  discard(container: WarmContainer): void {
    this.#pool?.discard(container);
  }

  async release(container: WarmContainer): Promise<void> {
    await this.#pool?.release(container);
  }

  /** Removes slots that no container of ours has, and says how many. */
  async sweepSlots(): Promise<number> {
    return (await this.#slots?.sweep())?.removed ?? 0;
  }

  /** To be called when no exec runs any more. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#opening;
    await this.#pool?.close();
    await this.#slots?.close().catch((error: unknown) => {
      this.#options.logger.warn('pool.slots_left', { error });
    });
    await this.#mounts?.close();
  }

  async #open(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      try {
        await this.#openOnce();
        return;
      } catch (error) {
        this.#why = error instanceof Error ? error.message : String(error);
        this.#options.logger.warn('pool.not_opened', { error });
      }
      await pause(retryMs, this.#closing.signal);
    }
  }

  async #openOnce(): Promise<void> {
    const { workspace, logger, mountsProgram } = this.#options;
    if (!this.#slots) {
      const roots = { sources: [workspace.root], targets: [workspace.slotsRoot] };
      const opened = await openHostMounts({ program: mountsProgram, roots, logger });
      if (!opened.available) {
        this.#off(opened.reason);
        return;
      }
      this.#mounts = opened.mounts;
      this.#slots = await openSlots({ mounts: opened.mounts, root: workspace.slotsRoot, logger });
    }
    await this.#slots.sweep();
    this.#pool = new Pool({
      ...this.#options,
      slots: this.#slots,
      usual: () => this.#usual(),
      size: () => Math.min(this.#options.size(), this.#most),
    });
    this.#pool.begin();
  }

  async #usual(): Promise<WarmSpec | undefined> {
    const image = await this.#options.findImage();
    if (!hasInit(image)) {
      this.#off('the image has no init of ours');
      return undefined;
    }
    const usual = this.#options.usual(image);
    const verdict = await this.#prove(usual.runtime);
    if (!verdict.works) {
      this.#off(verdict.reason);
      return undefined;
    }
    this.#most = Math.floor(this.#memoryBytes / usual.memoryBytes);
    if (this.#most === 0) {
      const [one, all] = [usual.memoryBytes, this.#memoryBytes].map((bytes) => Math.floor(bytes / 1024 ** 2));
      this.#off(`an exec gets ${one} MB by default, and all that wait may have ${all} MB together`);
      return undefined;
    }
    if (this.#why !== undefined) this.#options.logger.info('pool.on', { runtime: usual.runtime });
    this.#why = undefined;
    return usual;
  }

  #off(why: string): void {
    if (this.#why !== why) this.#options.logger.info('pool.off', { why });
    this.#why = why;
  }

  #prove(runtime: string): Promise<SlotsVerdict> {
    const known = this.#verdicts.get(runtime);
    if (known) return known;
    if (!this.#slots) throw new Error('there are no slots');
    const verdict = proveSlots({ ...this.#options, slots: this.#slots, runtime });
    this.#verdicts.set(runtime, verdict);
    verdict.catch(() => this.#verdicts.delete(runtime));
    return verdict;
  }

  /** What all that wait may have together. */
  get #memoryBytes(): number {
    return this.#options.engineMemoryBytes * memoryShare;
  }
}
