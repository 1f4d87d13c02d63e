import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import type { OpenFile } from '@secbox/workspace';
import type { OpenedFile } from './open-file.js';

export interface ZipEntry {
  readonly name: string;
  readonly size: number;
  readonly open: () => OpenedFile;
}

/**
 * The files as one ZIP, which is made while it is read: one file is open at a time, and destroying the
 * stream closes it. It fails when a file is not as it was recorded.
 */
export function zipFiles(entries: readonly ZipEntry[], modified: Date): Readable {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  let current: Readable | undefined;
  zip.on('error', (error: Error) => output.destroy(error));
  output.once('close', () => current?.destroy());
  for (const { name, size, open } of entries) {
    zip.addReadStreamLazy(name, { mtime: modified, mode: 0o100644, size }, (give) => {
      if (output.destroyed) return;
      try {
        current = Readable.from(contentOf(open().file));
        current.once('error', (error) => output.destroy(error));
        give(undefined, current);
      } catch (error) {
        output.destroy(error instanceof Error ? error : new Error(String(error)));
      }
    });
  }
  zip.end();
  return output;
}

/** Closes the file when it was read, or nobody reads on. */
async function* contentOf(file: OpenFile): AsyncGenerator<Buffer> {
  try {
    yield* file.chunks();
  } finally {
    file.close();
  }
}
