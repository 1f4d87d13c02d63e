import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsync,
  openSync,
  read,
  readSync,
  write,
  writeSync,
  type BigIntStats,
  type Stats,
} from 'node:fs';
import { promisify } from 'node:util';

const readLater = promisify(read);
const writeLater = promisify(write);
const syncLater = promisify(fsync);

/** So much is read or written at once, which is quicker than to hand it to a thread; more may have to wait for the disk. */
const atOnceBytes = 16 * 1024;
const chunkBytes = 64 * 1024;

export interface ByteRange {
  readonly start?: number;
  /** The last byte, as HTTP counts. */
  readonly end?: number;
}

/** As root, to us from whoever it was. The mode also bounds what lists of further users with rights may give. */
export function takeOver(descriptor: number, mode: number): void {
  if (process.getuid && process.getgid) fchownSync(descriptor, process.getuid(), process.getgid());
  fchmodSync(descriptor, mode);
}

/** A file that is open for reading or for writing; whoever opens it closes it. */
export class OpenFile {
  #descriptor: number | undefined;

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  static open(path: string | Buffer, flags: number, mode?: number): OpenFile {
    const file = new OpenFile(openSync(path, flags, mode));
    try {
      // What a process may not give away (its umask) it gives here.
      if (mode !== undefined) fchmodSync(file.#open, mode);
      return file;
    } catch (error) {
      file.close();
      throw error;
    }
  }

  close(): void {
    const descriptor = this.#descriptor;
    this.#descriptor = undefined;
    if (descriptor !== undefined) closeSync(descriptor);
  }

  stat(): Stats {
    return fstatSync(this.#open);
  }

  /** As {@link stat}, with times to the nanosecond. */
  bigStat(): BigIntStats {
    return fstatSync(this.#open, { bigint: true });
  }

  /** How many bytes there were, from this position on; 0 at the end. */
  async read(buffer: Buffer, position: number): Promise<number> {
    if (buffer.length <= atOnceBytes) return readSync(this.#open, buffer, 0, buffer.length, position);
    const { bytesRead } = await readLater(this.#open, buffer, 0, buffer.length, position);
    return bytesRead;
  }

  /** Its content in pieces. */
  async *chunks({ start = 0, end = Infinity }: ByteRange = {}): AsyncGenerator<Buffer> {
    for (let at = start; at <= end;) {
      const wanted = Math.min(chunkBytes, end - at + 1);
      const buffer = Buffer.allocUnsafe(wanted);
      const length = await this.read(buffer, at);
      if (length === 0) return;
      at += length;
      yield buffer.subarray(0, length);
    }
  }

  /** To be used for what is known to be small. */
  async readAll(): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.chunks()) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /** Writes all of it, behind what was written before. */
  async append(data: Buffer): Promise<void> {
    for (let at = 0; at < data.length;) {
      const rest = data.subarray(at);
      at += rest.length <= atOnceBytes ? writeSync(this.#open, rest) : await this.#writeLater(rest);
    }
  }

  own({ uid, gid }: { readonly uid: number; readonly gid: number }): void {
    fchownSync(this.#open, uid, gid);
  }

  /** Nobody but us can open it for writing any more; who has done so still can write. */
  takeOver(): void {
    takeOver(this.#open, 0o644 | (this.stat().mode & 0o111));
  }

  /** Makes what was written survive a power cut. */
  async sync(): Promise<void> {
    await syncLater(this.#open);
  }

  async #writeLater(data: Buffer): Promise<number> {
    const { bytesWritten } = await writeLater(this.#open, data);
    return bytesWritten;
  }

  get #open(): number {
    if (this.#descriptor === undefined) throw new Error('the file is closed');
    return this.#descriptor;
  }
}
