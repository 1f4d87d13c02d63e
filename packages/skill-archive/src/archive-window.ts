import type { FileHandle } from 'node:fs/promises';

const windowBytes = 1024 ** 2;
const kept = 4;

/**
 * Reads pieces of an archive that lie close to each other, as small entries do, with one read for many of them. What
 * reaches past a window is read by itself.
 */
export class ArchiveWindow {
  readonly #archive: FileHandle;
  readonly #windows = new Map<number, Promise<Buffer>>();

  constructor(archive: FileHandle) {
    this.#archive = archive;
  }

  /** Fewer bytes where the archive ends before. */
  async read(offset: number, most: number): Promise<Buffer> {
    const number = Math.floor(offset / windowBytes);
    const start = number * windowBytes;
    if (offset + most > start + windowBytes) return this.#readAt(offset, most);
    const window = await this.#window(number);
    return window.subarray(offset - start, offset - start + most);
  }

  #window(number: number): Promise<Buffer> {
    const known = this.#windows.get(number);
    if (known) return known;
    const reading = this.#readAt(number * windowBytes, windowBytes);
    this.#windows.set(number, reading);
    const [oldest] = this.#windows.keys();
    if (this.#windows.size > kept && oldest !== undefined) this.#windows.delete(oldest);
    return reading;
  }

  async #readAt(offset: number, most: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(most);
    let read = 0;
    while (read < most) {
      const { bytesRead } = await this.#archive.read(buffer, read, most - read, offset + read);
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    return buffer.subarray(0, read);
  }
}
