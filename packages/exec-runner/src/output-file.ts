import { answeredOutputBytes } from '@secbox/contracts';
import { createHash } from 'node:crypto';
import { isErrno, type Directory, type OpenFile } from '@secbox/workspace';
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
  readonly #file: OpenFile;
  readonly #limit: number;
  readonly #progress: Progress;
  readonly #hash = createHash('sha256');
  readonly #beginning: Buffer[] = [];
  #size = 0;
  #truncated = false;

  private constructor(file: OpenFile, limit: number, progress: Progress) {
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
    return new OutputFile(await createAnew(folder, name), limit, progress);
  }

  async append(data: Buffer): Promise<void> {
    const kept = data.subarray(0, this.#limit - this.#size);
    if (kept.length < data.length) this.#truncated = true;
    if (kept.length === 0) return;
    this.#hash.update(kept);
    if (this.#size < answeredOutputBytes)
      // A copy: a byte of a stream would keep all that came with it, of the other stream too.
      this.#beginning.push(Buffer.from(kept.subarray(0, answeredOutputBytes - this.#size)));
    this.#size += kept.length;
    await this.#file.append(kept);
    this.#progress.report();
  }

  /** As much of it as an answer has. */
  get beginning(): string {
    return Buffer.concat(this.#beginning).toString('utf8');
  }

  close(): OutputSummary {
    this.#file.close();
    return { size: this.#size, sha256: this.#hash.digest('hex'), truncated: this.#truncated };
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
