import { encodeStdin, encodeStdinEnd } from './encode-frame.js';
import { InitError } from './init-error.js';
import { limits } from './protocol.js';

/**
 * Hands a source to the command's stdin within the credit that init gives: init never has to stop
 * reading, so a kill is never stuck behind input that the command does not take.
 */
export class StdinFeed {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #send: (frame: Buffer) => Promise<void>;
  #window: number = limits.stdinWindowBytes;
  #stopped = false;
  #wake: () => void = () => undefined;

  constructor(source: AsyncIterable<Uint8Array>, send: (frame: Buffer) => Promise<void>) {
    this.#source = source[Symbol.asyncIterator]();
    this.#send = send;
  }

  /** Settles when all is sent, or no more is wanted; fails when the source does. */
  async run(): Promise<void> {
    for (;;) {
      const next = await this.#source.next();
      if (this.#stopped) return;
      if (next.done === true) {
        await this.#send(encodeStdinEnd());
        return;
      }
      await this.#sendAll(next.value);
    }
  }

  credit(bytes: number): void {
    if (bytes > limits.stdinWindowBytes - this.#window) {
      throw new InitError('protocol', 'Init gave more credit for stdin than it was sent bytes.');
    }
    this.#window += bytes;
    this.#wake();
  }

  /** Does not wait for a source that is slow to answer. */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#wake();
    void Promise.resolve(this.#source.return?.()).catch(() => undefined);
  }

  async #sendAll(bytes: Uint8Array): Promise<void> {
    let offset = 0;
    while (offset < bytes.length) {
      if (this.#window === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
      if (this.#stopped) return;
      const piece = bytes.subarray(offset, offset + this.#window);
      offset += piece.length;
      this.#window -= piece.length;
      await this.#send(encodeStdin(piece));
    }
  }
}
