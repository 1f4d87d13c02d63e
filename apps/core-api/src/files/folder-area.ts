import { parseRelativePath, type FolderFiles } from '@secbox/workspace';
import type { FileArea } from './file-area.js';

/** What a change may make the folder larger by: a file there, with the folders above it. */
export interface Adding {
  readonly path: string;
  readonly bytes: number;
}

/** How a folder is come to: each use has it there, and changes are kept apart from each other. */
export interface FolderAccess {
  reading<T>(use: (files: FolderFiles) => Promise<T>): Promise<T>;
  changing<T>(use: (files: FolderFiles) => Promise<T>, adding?: Adding): Promise<T>;
  /** Receives what a client sends, however slowly, before anything is held up by it. */
  staging<T>(content: AsyncIterable<Buffer>, mostBytes: number, use: StagedUse<T>): Promise<T>;
  /** Throws when a caller may not change that path. */
  checkChange?: (path: string) => void;
  /** Keeps the folder until a download is over; gives what lets it go. */
  hold?: () => Promise<() => void>;
}

export type StagedUse<T> = (content: () => AsyncIterable<Buffer>, bytes: number) => Promise<T>;

/** The files of a folder in which programs are at work. */
export function folderArea(access: FolderAccess): FileArea {
  const changing: FolderAccess['changing'] = (use, adding) => access.changing(use, adding);
  const check = (...paths: readonly string[]) => {
    for (const path of paths) {
      parseRelativePath(path, 'path');
      access.checkChange?.(path);
    }
  };
  return {
    list: (page) => access.reading((files) => files.list(page)),
    stat: (path) => access.reading((files) => files.stat(path)),
    async open(path) {
      const letGo = (await access.hold?.()) ?? (() => undefined);
      try {
        const { file, facts } = await access.reading((files) => files.open(path));
        return {
          file: {
            chunks: (range) => file.chunks(range),
            close: () => {
              file.close();
              letGo();
            },
          },
          size: facts.bytes,
          sha256: facts.etag,
          mediaType: 'application/octet-stream',
        };
      } catch (error) {
        letGo();
        throw error;
      }
    },
    readText: (path) => access.reading((files) => files.readText(path)),
    readLines: (path, range) => access.reading((files) => files.readLines(path, range)),
    search: (query) => access.reading((files) => files.search(query)),
    async write(path, content, options) {
      check(path);
      return access.staging(content, options.mostBytes, (staged, bytes) =>
        changing((files) => files.write(path, staged(), options), { path, bytes }),
      );
    },
    async edit(path, text, options) {
      check(path);
      const adding = { path, bytes: Buffer.byteLength(text) };
      return changing((files) => files.edit(path, text, options), adding);
    },
    async delete(path, precondition) {
      check(path);
      await changing((files) => files.delete(path, precondition));
    },
    async move(from, to, precondition) {
      check(from, to);
      await changing((files) => files.move(from, to, precondition), { path: to, bytes: 0 });
    },
  };
}
