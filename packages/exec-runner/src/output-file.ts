import { answeredOutputBytes } from '@secbox/contracts';
import { createHash } from 'node:crypto';
import { isErrno, type Directory, type OpenFile } from '@secbox/workspace';
import { pause } from './pause.js';
import type { Progress } from './progress.js';

export const outputNames = { stdout: 'stdout.txt', stderr: 'stderr.txt' } as const;

export interface OutputSummary {
  readonly size: number;
  readonly sha256: string;
  /** The program wrote more than is kept. */
  readonly truncated: boolean;
}

const retryMs = 500;

/**
 * Keeps the first bytes of a stream, exactly; takes and forgets the rest, so that the program is never stopped by it. A full
 * disk holds it up until there is room, or until it is to end.
 */
export class OutputFile {
  readonly #file: OpenFile;
  #limit: number;
  readonly #progress: Progress;
  readonly #onFull: (error: unknown) => void;
  readonly #ending = new AbortController();
  readonly #hash = createHash('sha256');
  readonly #beginning: Buffer[] = [];
  #size = 0;
  #truncated = false;

  private constructor(file: OpenFile, limit: number, progress: Progress, onFull: (error: unknown) => void) {
    this.#file = file;
    this.#limit = limit;
    this.#progress = progress;
    this.#onFull = onFull;
  }

  /** `onFull` hears of the disk once for each time that it holds something up. */
  static async create(
    folder: Directory,
    name: string,
    limit: number,
    progress: Progress,
    onFull: (error: unknown) => void = () => undefined,
  ): Promise<OutputFile> {
    return new OutputFile(await createAnew(folder, name), limit, progress, onFull);
  }

  async append(data: Buffer): Promise<void> {
    const wanted = data.subarray(0, this.#limit - this.#size);
    const kept = wanted.subarray(0, wanted.length === 0 ? 0 : await this.#write(wanted));
    // What follows bytes that are missing is not kept either.
    if (kept.length < wanted.length) this.#limit = this.#size + kept.length;
    if (kept.length < data.length) this.#truncated = true;
    if (kept.length === 0) return;
    this.#hash.update(kept);
    if (this.#size < answeredOutputBytes)
      // A copy: a byte of a stream would keep all that came with it, of the other stream too.
      this.#beginning.push(Buffer.from(kept.subarray(0, answeredOutputBytes - this.#size)));
    this.#size += kept.length;
    this.#progress.report();
  }

  /** The program is to end: nothing waits for room any more. */
  hurry(): void {
    this.#ending.abort();
  }

  /** As much of it as an answer has. */
  get beginning(): string {
    return Buffer.concat(this.#beginning).toString('utf8');
  }

  close(): OutputSummary {
    this.#file.close();
    return { size: this.#size, sha256: this.#hash.digest('hex'), truncated: this.#truncated };
  }

  /** How much of it is in the file: all, unless there was no room for it to the end. */
  async #write(data: Buffer): Promise<number> {
    for (let told = false, at = 0; ; told = true) {
      try {
        await this.#file.append(data.subarray(at));
        return data.length;
      } catch (error) {
        if (!isErrno(error, 'ENOSPC', 'EDQUOT')) throw error;
        if (!told) this.#onFull(error);
      }
      // It may have got some way.
      at = this.#file.stat().size - this.#size;
      if (this.#ending.signal.aborted) return at;
      await pause(retryMs, this.#ending.signal);
    }
  }
}

/** An earlier try, of a server that was killed perhaps, may have come as far as this. */
async function createAnew(folder: Directory, name: string): Promise<OpenFile> {
  try {
    return folder.createFile(name, 0o644);
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
  }
  await folder.remove(name);
  return folder.createFile(name, 0o644);
}
