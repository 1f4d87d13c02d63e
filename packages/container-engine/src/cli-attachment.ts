import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { Writable } from 'node:stream';
import { mergeOutput } from './cli-output.js';
import { endOf, type ChildEnd } from './cli-process.js';
import type { Attachment, OutputChunk } from './container-engine.js';
import { Settlement } from './init/settlement.js';

/** The docker program that carries a container's streams. */
export interface Carrier {
  readonly child: ChildProcessWithoutNullStreams;
  readonly end: Promise<ChildEnd>;
}

/**
 * The docker program attaches to a container that does not run only by starting it. So this stands for
 * the streams from before the start: it takes input, which waits, and gives output once there is any.
 */
export class CliAttachment implements Attachment {
  readonly input: Writable;
  readonly output: AsyncIterable<OutputChunk>;
  readonly #carrier = new Settlement<Carrier>();
  readonly #running = new Settlement<Carrier>();
  readonly #onClose: () => void;
  #child: ChildProcessWithoutNullStreams | undefined;
  #closed = false;

  /** `checkEnd` fails when an exit code that is not 0 is the program's own and not the container's. */
  constructor(checkEnd: (exitCode: number | null) => Promise<void>, onClose: () => void) {
    this.#onClose = onClose;
    this.input = inputTo(this.#carrier.promise);
    this.output = this.#read(checkEnd);
  }

  /** From here on input flows; output is held until it is known to be the container's. */
  carriedBy(child: ChildProcessWithoutNullStreams): Carrier {
    const carrier = { child, end: endOf(child, 'exit') };
    child.stdin.on('error', () => undefined);
    // When a child exits, Node drains and drops what nobody listens for; a slow reader still wants it.
    for (const stream of [child.stdout, child.stderr]) stream.on('readable', () => undefined);
    this.#child = child;
    this.#carrier.resolve(carrier);
    return carrier;
  }

  /** The container runs, or has run: what the carrier prints is its output. */
  confirm(carrier: Carrier): void {
    this.#running.resolve(carrier);
  }

  close(error: unknown = new Error('The attachment was closed.')): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#carrier.reject(error);
    this.#running.reject(error);
    this.input.destroy();
    // Not a signal that can be caught: it would be handed on to the container.
    this.#child?.kill('SIGKILL');
    for (const stream of this.#child?.stdio ?? []) stream?.destroy();
    this.#onClose();
  }

  async *#read(checkEnd: (exitCode: number | null) => Promise<void>): AsyncGenerator<OutputChunk> {
    try {
      const { child, end } = await this.#running.promise;
      yield* mergeOutput(child.stdout, child.stderr);
      const { code } = await end;
      if (code !== 0) await checkEnd(code);
    } finally {
      this.close();
    }
  }
}

/** A write to a program that is gone fails for the writer, and must not end the process. */
function inputTo(carrier: Promise<Carrier>): Writable {
  const input = new Writable({
    write: (chunk: Buffer, _encoding, done) =>
      void carrier.then(({ child }) => child.stdin.write(chunk, done), done),
    final: (done) => void carrier.then(({ child }) => child.stdin.end(done), done),
  });
  return input.on('error', () => undefined);
}
