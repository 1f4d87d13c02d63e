import { decodePayload, payloadLengths } from './decode-payload.js';
import { InitError } from './init-error.js';
import type { InitFrame } from './init-frame.js';
import { headerBytes, limits, magic, toHost } from './protocol.js';

const longestSmallFrame = headerBytes + Math.max(...payloadLengths.values());

/**
 * Takes init's stdout in chunks cut anywhere. Data is handed on as views of the chunk it came in, so what
 * is held is never more than one small frame.
 */
export class FrameDecoder {
  /** A header, or a whole frame that is not data, while it is still incomplete. */
  readonly #small = Buffer.alloc(longestSmallFrame);
  #smallHave = 0;
  #smallWant = headerBytes;
  #data: 'stdout' | 'stderr' = 'stdout';
  #dataLeft = 0;

  /** The frames that this chunk completes; to be consumed before the next chunk is pushed. */
  *push(chunk: Uint8Array): Generator<InitFrame, void, undefined> {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let offset = 0;
    while (offset < bytes.length) {
      if (this.#dataLeft > 0) {
        const data = bytes.subarray(offset, offset + this.#dataLeft);
        offset += data.length;
        this.#dataLeft -= data.length;
        yield { type: this.#data, data };
        continue;
      }
      offset += this.#takeSmall(bytes, offset);
      if (this.#smallHave < this.#smallWant) continue;
      if (this.#smallWant === headerBytes && this.#openFrame()) continue;
      const type = this.#small.readUInt8(2);
      const payload = this.#small.subarray(headerBytes, this.#smallHave);
      this.#expectHeader();
      yield decodePayload(type, payload);
    }
  }

  /** Whether the stream may end here. */
  get atFrameBoundary(): boolean {
    return this.#smallHave === 0 && this.#dataLeft === 0;
  }

  #takeSmall(bytes: Buffer, offset: number): number {
    const taken = bytes.copy(
      this.#small,
      this.#smallHave,
      offset,
      offset + this.#smallWant - this.#smallHave,
    );
    this.#smallHave += taken;
    return taken;
  }

  /** Judges a header before anything of its payload is taken. True: the payload is still to come. */
  #openFrame(): boolean {
    const header = this.#small;
    if (!header.subarray(0, magic.length).equals(magic) || header.readUInt8(3) !== 0) {
      throw new InitError('protocol', 'What init sent does not begin as a frame does.');
    }
    const type = header.readUInt8(2);
    const length = header.readUInt32BE(4);
    if (type === toHost.stdout || type === toHost.stderr) {
      if (length === 0 || length > limits.dataBytes) wrongLength(type, length);
      this.#data = type === toHost.stdout ? 'stdout' : 'stderr';
      this.#dataLeft = length;
      this.#expectHeader();
      return true;
    }
    const expected = payloadLengths.get(type);
    if (expected === undefined) throw new InitError('protocol', `Init sent a frame of unknown type ${type}.`);
    if (length !== expected) wrongLength(type, length);
    this.#smallWant = headerBytes + length;
    return length > 0;
  }

  #expectHeader(): void {
    this.#smallHave = 0;
    this.#smallWant = headerBytes;
  }
}

function wrongLength(type: number, length: number): never {
  throw new InitError(
    'protocol',
    `Init sent a frame of type ${type} with an impossible length of ${length}.`,
  );
}
