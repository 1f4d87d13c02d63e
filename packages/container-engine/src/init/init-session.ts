import { encodeClear, encodeKill } from './encode-frame.js';
import { encodeRequest, type InitRequest } from './encode-request.js';
import { FrameDecoder } from './frame-decoder.js';
import type { InitChannel } from './init-channel.js';
import { InitError } from './init-error.js';
import type { InitExit, InitFrame } from './init-frame.js';
import type { StartKind, StartStep } from './protocol.js';
import { Settlement } from './settlement.js';
import { StdinFeed } from './stdin-feed.js';

/** Where the output goes. A promise holds the command back until it settles; a failure ends the run. */
export interface RunSinks {
  stdout(data: Buffer): Promise<void> | undefined;
  stderr(data: Buffer): Promise<void> | undefined;
  started?(pid: number, start: StartKind): void;
}

export type InitOutcome =
  | { readonly kind: 'ended'; readonly exit: InitExit }
  | { readonly kind: 'not_started'; readonly step: StartStep; readonly errno: number };

type State = 'opening' | 'ready' | 'asked' | 'started' | 'over';

/**
 * One init, from its first frame to its last. It reads from the moment it is made, so a pooled init that
 * dies while it waits is noticed (see {@link gone}). Any frame out of order ends it.
 */
export class InitSession {
  readonly #channel: InitChannel;
  readonly #decoder = new FrameDecoder();
  readonly #ready = new Settlement<undefined>();
  readonly #warm = new Settlement<boolean>();
  readonly #outcome = new Settlement<InitOutcome>();
  #state: State = 'opening';
  #startsAhead = false;
  /** Its last frame has come. */
  #told = false;
  #sinks: RunSinks | undefined;
  #stdin: StdinFeed | undefined;

  constructor(channel: InitChannel) {
    this.#channel = channel;
    void this.#read();
  }

  /** Settles when init waits for its request; fails when it never will. */
  ready(): Promise<undefined> {
    return this.#ready.promise;
  }

  /**
   * Settles when it is known whether what the init was told to start ahead is up: true, and a request that
   * fits it will be served by it; false, when there is none or it was lost, and every start will be a plain
   * one. A request need not wait for it.
   */
  warm(): Promise<boolean> {
    return this.#warm.promise;
  }

  /** True when it can no longer run anything, or has already. */
  get gone(): boolean {
    return this.#state === 'over';
  }

  /**
   * Runs the one request and settles on init's last frame, when nothing else lives in the container.
   * Fails with `bad_request` before anything is sent, with the error of a sink or of the stdin source,
   * or with an {@link InitError} when init is lost; whether the command ran is then unknown.
   */
  async run(
    request: Omit<InitRequest, 'streamsStdin'>,
    sinks: RunSinks,
    stdin?: AsyncIterable<Uint8Array>,
  ): Promise<InitOutcome> {
    const frame = encodeRequest({ ...request, streamsStdin: stdin !== undefined });
    if (this.#sinks !== undefined) throw new InitError('bad_request', 'An init runs one request only.');
    this.#sinks = sinks;
    await this.#ready.promise;
    // It was ready once and is lost since.
    if (this.gone) return this.#outcome.promise;
    this.#state = 'asked';
    const feed = stdin && new StdinFeed(stdin, (bytes) => this.#send(bytes));
    this.#stdin = feed;

    const sent = this.#send(frame);
    // The source failed, not the command: what ran on half of its input has no result.
    const fed = feed?.run().catch((error: unknown) => {
      this.#fail(error);
    });
    try {
      return await this.#outcome.promise;
    } finally {
      feed?.stop();
      void Promise.all([sent, fed]);
    }
  }

  /** To be called before the request, when that will have no use for what was started ahead: it ends meanwhile. */
  async clear(): Promise<void> {
    if (this.#state === 'ready' && this.#startsAhead) await this.#send(encodeClear());
  }

  /** Signals every process of the sandbox, and kills what is left after the grace. Before the request and after its end it does nothing. */
  async kill(signal: number, graceMs = 0): Promise<void> {
    const frame = encodeKill(signal, graceMs);
    if (this.#state === 'asked' || this.#state === 'started') await this.#send(frame);
  }

  /** Lets go of init, which kills what runs and exits. */
  close(): void {
    this.#fail(new InitError('gone', 'The session with init was closed.'));
  }

  async #read(): Promise<void> {
    try {
      for await (const chunk of told(this.#channel.output)) {
        for (const frame of this.#decoder.push(chunk)) {
          const held = this.#take(frame);
          if (held !== undefined) await held;
          // To leave would break the stream; after the last frame that is for whoever has the channel to do.
          if (this.gone && !this.#told) return;
        }
      }
      throw new InitError('gone', 'Init ended without its last frame.');
    } catch (error) {
      this.#fail(error);
    }
  }

  #take(frame: InitFrame): Promise<void> | undefined {
    if (frame.type === 'fault')
      throw new InitError('fault', `Init refused what it was sent (${frame.fault}).`);
    const running = this.#state === 'started';
    const asked = running || this.#state === 'asked';
    if (frame.type === 'ready' && this.#state === 'opening') {
      this.#state = 'ready';
      this.#startsAhead = frame.startsAhead;
      if (!frame.startsAhead) this.#warm.resolve(false);
      this.#ready.resolve(undefined);
    } else if (
      frame.type === 'ahead' &&
      this.#startsAhead &&
      (this.#state === 'ready' || this.#state === 'asked')
    ) {
      this.#warm.resolve(frame.state === 'up');
    } else if (frame.type === 'started' && this.#state === 'asked') {
      this.#state = 'started';
      this.#sinks?.started?.(frame.pid, frame.start);
    } else if (frame.type === 'failed' && this.#state === 'asked') {
      this.#finish({ kind: 'not_started', step: frame.step, errno: frame.errno });
    } else if ((frame.type === 'stdout' || frame.type === 'stderr') && running) {
      return this.#sinks?.[frame.type](frame.data);
    } else if (frame.type === 'stdin_credit' && asked && this.#stdin) {
      this.#stdin.credit(frame.bytes);
    } else if (frame.type === 'stdin_closed' && asked && this.#stdin) {
      this.#stdin.stop();
    } else if (frame.type === 'exit' && running) {
      this.#finish({ kind: 'ended', exit: frame.exit });
    } else {
      throw new InitError('protocol', `Init sent "${frame.type}" out of order.`);
    }
    return undefined;
  }

  async #send(frame: Buffer): Promise<void> {
    try {
      await this.#channel.write(frame);
    } catch (error) {
      this.#fail(new InitError('gone', 'Init cannot be written to any more.', { cause: error }));
    }
  }

  #finish(outcome: InitOutcome): void {
    this.#state = 'over';
    this.#told = true;
    this.#outcome.resolve(outcome);
    this.#channel.close();
  }

  #fail(error: unknown): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#ready.reject(error);
    this.#warm.reject(error);
    this.#outcome.reject(error);
    this.#channel.close();
  }
}

/** A stream that breaks is an init that is gone, whatever the transport calls it. */
async function* told(output: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* output;
  } catch (error) {
    throw new InitError('gone', 'The stream from init broke.', { cause: error });
  }
}
