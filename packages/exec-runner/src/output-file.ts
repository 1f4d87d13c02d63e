import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { Directory } from '@secbox/workspace';
import type { Progress } from './progress.js';

export const outputNames = { stdout: 'stdout.txt', stderr: 'stderr.txt' } as const;

export interface OutputSummary {
  readonly size: number;
  readonly sha256: string;
  /** The program wrote more than is kept. */
  readonly truncated: boolean;
}

/** Keeps the first bytes of a stream, exactly; takes and forgets the rest, so that the program is never stopped by it. */
export class OutputFile {
  readonly #file: FileHandle;
  readonly #limit: number;
  readonly #progress: Progress;
  readonly #hash = createHash('sha256');
  #size = 0;
  #truncated = false;

  private constructor(file: FileHandle, limit: number, progress: Progress) {
    this.#file = file;
    this.#limit = limit;
    this.#progress = progress;
  }

  static async create(
    folder: Directory,
    name: string,
    limit: number,
    progress: Progress,
  ): Promise<OutputFile> {
    // An earlier try, of a server that was killed perhaps, may have come as far as this.
    await folder.remove(name);
    return new OutputFile(await folder.createFile(name, 0o644), limit, progress);
  }

  async append(data: Buffer): Promise<void> {
    const kept = data.subarray(0, this.#limit - this.#size);
    if (kept.length < data.length) this.#truncated = true;
    if (kept.length === 0) return;
    this.#hash.update(kept);
    this.#size += kept.length;
    await this.#file.appendFile(kept);
    this.#progress.report();
  }

  async close(): Promise<OutputSummary> {
    await this.#file.close();
    return { size: this.#size, sha256: this.#hash.digest('hex'), truncated: this.#truncated };
  }
}
