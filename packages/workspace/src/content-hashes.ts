import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';

const chunkBytes = 256 * 1024;

/** The hash of a file's content, read from its start in pieces. */
export async function hashFile(
  file: FileHandle,
  stop?: AbortSignal,
): Promise<{ sha256: string; length: number }> {
  const digest = createHash('sha256');
  const buffer = Buffer.allocUnsafe(chunkBytes);
  let length = 0;
  for (;;) {
    stop?.throwIfAborted();
    const { bytesRead } = await file.read(buffer, 0, buffer.length, length);
    if (bytesRead === 0) return { sha256: digest.digest('hex'), length };
    digest.update(buffer.subarray(0, bytesRead));
    length += bytesRead;
  }
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

  async of(file: FileHandle): Promise<string> {
    const stats = await file.stat({ bigint: true });
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
