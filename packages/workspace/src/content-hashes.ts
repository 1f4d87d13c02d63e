import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import type { OpenFile } from './open-file.js';

/** The hash of a file's content, read from its start in pieces. */
export async function hashFile(
  file: OpenFile,
  stop?: AbortSignal,
): Promise<{ sha256: string; length: number }> {
  const digest = createHash('sha256');
  let length = 0;
  for await (const chunk of file.chunks()) {
    stop?.throwIfAborted();
    digest.update(chunk);
    length += chunk.length;
  }
  return { sha256: digest.digest('hex'), length };
}

export function sha256Of(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Remembers the hashes of files that have not changed since, so that large ones are read once. */
export class ContentHashes {
  readonly #known = new Map<string, string>();
  readonly #capacity: number;

  constructor(capacity = 100_000) {
    this.#capacity = capacity;
  }

  find(stats: BigIntStats): string | undefined {
    return this.#known.get(keyOf(stats));
  }

  async of(file: OpenFile): Promise<string> {
    const stats = file.bigStat();
    const known = this.find(stats);
    if (known !== undefined) return known;
    const { sha256 } = await hashFile(file);
    this.remember(stats, sha256);
    return sha256;
  }

  remember(stats: BigIntStats, sha256: string): void {
    this.#known.set(keyOf(stats), sha256);
    const [oldest] = this.#known.keys();
    if (this.#known.size > this.#capacity && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** Not the time of the last status change: a further hard link to a file changes it too. */
function keyOf({ dev, ino, size, mtimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}`;
}
