import type { SkillLayers, SkillPlace } from '@secbox/skill-layers';
import type { FileArea } from './file-area.js';

/** What somebody is told of once a skill has changed. */
export type SkillChanged = (place: SkillPlace, ...paths: readonly string[]) => Promise<void>;

const chunkBytes = 64 * 1024;

/** The files of a skill, as one user sees it. */
export function skillArea(layers: SkillLayers, place: SkillPlace, changed: SkillChanged): FileArea {
  return {
    async list({ after, limit }) {
      const all = await layers.files(place);
      const rest = after === undefined ? all : all.filter(({ path }) => path > after);
      return { files: rest.slice(0, limit), more: rest.length > limit };
    },
    async stat(path) {
      const { sha256, ...file } = await layers.stat(place, path);
      return { ...file, etag: sha256 };
    },
    async open(path) {
      const { handle, entry } = await layers.openFile(place, path);
      return {
        file: {
          async *chunks({ start = 0, end = Infinity } = {}) {
            for (let at = start; at <= end;) {
              const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, end - at + 1));
              const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
              if (bytesRead === 0) return;
              at += bytesRead;
              yield buffer.subarray(0, bytesRead);
            }
          },
          close: () => handle.close(),
        },
        size: entry.bytes,
        sha256: entry.sha256,
        mediaType: 'application/octet-stream',
      };
    },
    readText: (path) => layers.readText(place, path),
    readLines: (path, range) => layers.readLines(place, path, range),
    search: (query) => layers.search(place, query),
    async write(path, content, { executable, ...options }) {
      const written = await layers.writeFile(place, path, content, {
        ...options,
        ...(executable === undefined ? {} : { executable }),
      });
      await changed(place, path);
      return written;
    },
    async edit(path, text, options) {
      const written = await layers.editFile(place, path, text, options);
      await changed(place, path);
      return written;
    },
    async delete(path, precondition) {
      await layers.deleteFile(place, path, precondition);
      await changed(place, path);
    },
    async move(from, to, precondition) {
      await layers.moveFile(place, from, to, precondition);
      await changed(place, from, to);
    },
  };
}
