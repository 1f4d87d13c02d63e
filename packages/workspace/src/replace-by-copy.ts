import { createHash, randomUUID } from 'node:crypto';
import type { Directory } from './directory.js';
import type { OpenFile } from './open-file.js';

export interface CopyPlace {
  readonly parent: Directory;
  readonly name: Buffer;
  /** On the file system of `parent`. */
  readonly staging: Directory;
  readonly stop: AbortSignal;
}

/**
 * Puts a copy of a file in its place, one that nobody has open, and gives the hash of the copy. Of one that grows
 * meanwhile, no more is taken than there was at first.
 */
export async function replaceByCopy(
  file: OpenFile,
  { parent, name, staging, stop }: CopyPlace,
): Promise<{ sha256: string; length: number }> {
  const { size, mode } = file.stat();
  const temporary = randomUUID();
  const copy = staging.createFile(temporary, mode & 0o755);
  const digest = createHash('sha256');
  let length = 0;
  try {
    for await (const chunk of file.chunks({ end: size - 1 })) {
      stop.throwIfAborted();
      digest.update(chunk);
      await copy.append(chunk);
      length += chunk.length;
    }
    staging.rename(temporary, parent, name);
    return { sha256: digest.digest('hex'), length };
  } catch (error) {
    await staging.remove(temporary);
    throw error;
  } finally {
    copy.close();
  }
}
