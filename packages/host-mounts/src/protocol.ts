/** The wire format of secbox-mounts: a mirror of mounter/protocol.h, which explains it. */

export const lengthBytes = 4;
export const requestFixedBytes = 8;

export const limits = {
  requestBytes: 64 * 1024,
  lower: 8,
} as const;

export const verbs = {
  bind: 1,
  overlay: 2,
  unmount: 3,
  share: 4,
  disk: 5,
} as const;

export const flags = { readOnly: 0x01 } as const;

export const answers = { done: 0, failed: 1 } as const;

export interface MountRequest {
  readonly verb: keyof typeof verbs;
  readonly readOnly?: boolean;
  readonly paths: readonly string[];
}

export interface MountAnswer {
  readonly id: number;
  /** Where it failed, and the name of the error; undefined when it is done. */
  readonly failure: { readonly step: string; readonly errno: string } | undefined;
}

/** Throws a RangeError for what cannot be said in a frame. */
export function requestFrame(id: number, { verb, readOnly = false, paths }: MountRequest): Buffer {
  if (paths.some((path) => path.includes('\0'))) throw new RangeError('A path holds a NUL.');
  const strings = Buffer.from(paths.map((path) => `${path}\0`).join(''), 'utf8');
  const length = requestFixedBytes + strings.length;
  if (length > limits.requestBytes) throw new RangeError('The paths are too long.');
  const head = Buffer.alloc(lengthBytes + requestFixedBytes);
  head.writeUInt32BE(length, 0);
  head.writeUInt32BE(id, 4);
  head.writeUInt8(verbs[verb], 8);
  head.writeUInt8(readOnly ? flags.readOnly : 0, 9);
  head.writeUInt16BE(paths.length, 10);
  return Buffer.concat([head, strings]);
}

const answerFixedBytes = 5;
const largestAnswer = 1024;

/** Takes bytes in pieces of any size, and gives the answers that are whole. */
export class AnswerReader {
  #rest: Buffer = Buffer.alloc(0);

  /** Throws a RangeError for what is no answer. */
  read(bytes: Buffer): MountAnswer[] {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    const read: MountAnswer[] = [];
    for (;;) {
      if (this.#rest.length < lengthBytes) return read;
      const length = this.#rest.readUInt32BE(0);
      if (length < answerFixedBytes || length > largestAnswer) {
        throw new RangeError(`An answer of ${length} bytes is none.`);
      }
      if (this.#rest.length < lengthBytes + length) return read;
      read.push(answerOf(this.#rest.subarray(lengthBytes, lengthBytes + length)));
      this.#rest = this.#rest.subarray(lengthBytes + length);
    }
  }
}

function answerOf(bytes: Buffer): MountAnswer {
  const id = bytes.readUInt32BE(0);
  if (bytes.readUInt8(4) === answers.done) return { id, failure: undefined };
  const [step = '', ...errno] = bytes.toString('latin1', answerFixedBytes).split(' ');
  return { id, failure: { step, errno: errno.join(' ') } };
}
