import { SecboxError, newExecId, type ExecId } from '@secbox/contracts';
import { parseRelativePath, within, type InputFile, type Workspace } from '@secbox/workspace';
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';

export interface IntakeLimits {
  /** Of all files of one request together. */
  readonly maxBytes: number;
  /** Of its secret ones, which are held in memory because they may not lie on disk in the clear. */
  readonly maxSecretBytes: number;
}

export interface IntakeOptions {
  readonly workspace: Workspace;
  readonly limits: IntakeLimits;
  /** False: its files are only compared with earlier ones. */
  readonly keep?: boolean;
  /** Throws when the disk has no room for more. */
  readonly assertRoom: () => void;
  readonly onClose: () => void;
}

export interface IncomingInput {
  readonly path: string;
  readonly secret: boolean;
  /** What the caller knows it by, for errors. */
  readonly field: string;
}

/** So much may arrive before it is looked again whether there is room. */
const bytesBetweenLooks = 8 * 1024 ** 2;

/**
 * Receives the files of one request before anything is decided about it. They stream to the spool of
 * the exec that they may become the inputs of, and are hashed on the way.
 */
export class Intake {
  readonly execId: ExecId = newExecId();
  readonly #options: IntakeOptions;
  readonly #received: InputFile[] = [];
  readonly #receiving = new Map<Readable, Promise<void>>();
  #discarded = false;
  #staged = 0;
  #bytes = 0;
  #secretBytes = 0;
  #bytesSinceLook = 0;

  constructor(options: IntakeOptions) {
    this.#options = options;
    this.#assertRoom();
  }

  get received(): readonly InputFile[] {
    return this.#received;
  }

  async receive(input: IncomingInput, source: Readable): Promise<void> {
    const receiving = this.#discarded ? Promise.reject(interrupted()) : this.#receive(input, source);
    this.#receiving.set(source, receiving);
    try {
      await receiving;
    } finally {
      this.#receiving.delete(source);
    }
  }

  async #receive({ path, secret, field }: IncomingInput, source: Readable): Promise<void> {
    const relative = parseRelativePath(path, field);
    const digest = createHash('sha256');
    const size = { bytes: 0 };
    const counted = this.#counted(source, secret, (chunk) => {
      digest.update(chunk);
      size.bytes += chunk.length;
    });
    const content = secret ? await readWhole(counted) : await this.#stage(counted);
    const sha256 = digest.digest('hex');
    this.#received.push({ path: relative, size: size.bytes, sha256, secret, content });
  }

  /** Its files are the exec's from now on. */
  close(): void {
    this.#options.onClose();
  }

  /** Leaves nothing of it behind. */
  async discard(): Promise<void> {
    this.#discarded = true;
    const receiving = [...this.#receiving];
    // One that nobody sends on any more would never come to an end.
    for (const [source] of receiving) source.destroy(interrupted());
    await Promise.allSettled(receiving.map(([, done]) => done));
    await this.#options.workspace.removeSpool(this.execId);
    this.#options.onClose();
  }

  async #stage(chunks: AsyncIterable<Buffer>): Promise<{ readonly staged: string }> {
    const staged = `input-${this.#staged}`;
    this.#staged += 1;
    const { workspace, keep } = this.#options;
    const file =
      keep === false
        ? undefined
        : within(workspace.openSpool(this.execId), (spool) => spool.createFile(staged, 0o644));
    try {
      for await (const chunk of chunks) await file?.append(chunk);
    } finally {
      file?.close();
    }
    return { staged };
  }

  #assertRoom(): void {
    if (this.#options.keep !== false) this.#options.assertRoom();
  }

  async *#counted(
    source: Readable,
    secret: boolean,
    see: (chunk: Buffer) => void,
  ): AsyncGenerator<Buffer, void, undefined> {
    const { limits } = this.#options;
    for await (const chunk of source as AsyncIterable<Buffer>) {
      this.#bytes += chunk.length;
      if (secret) this.#secretBytes += chunk.length;
      if (this.#bytes > limits.maxBytes) throw tooLarge('files', limits.maxBytes);
      if (this.#secretBytes > limits.maxSecretBytes) throw tooLarge('secret files', limits.maxSecretBytes);
      this.#bytesSinceLook += chunk.length;
      if (this.#bytesSinceLook > bytesBetweenLooks) {
        this.#bytesSinceLook = 0;
        this.#assertRoom();
      }
      see(chunk);
      yield chunk;
    }
  }
}

async function readWhole(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}

function interrupted(): SecboxError {
  return new SecboxError('invalid_request', 'The body ended before it was complete.');
}

function tooLarge(what: string, limit: number): SecboxError {
  return new SecboxError('body_too_large', `The ${what} of a request have at most ${limit} bytes together.`, {
    details: { limit_bytes: limit },
  });
}
