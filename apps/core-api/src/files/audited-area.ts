import type { AreaChange, FileArea } from './file-area.js';

/** A change of a file, as it is on record. */
export type FileChange = { readonly path: string } & (
  | { readonly change: 'written'; readonly etag: string; readonly bytes: number; readonly created: boolean }
  | { readonly change: 'deleted' }
  | { readonly change: 'moved'; readonly to: string }
);

/** The same area; each change that was made in it is told, and that is waited for. */
export function auditedArea(area: FileArea, told: (change: FileChange) => Promise<void>): FileArea {
  const written = async (making: Promise<AreaChange>): Promise<AreaChange> => {
    const change = await making;
    const { path, etag, bytes, created } = change;
    await told({ change: 'written', path, etag, bytes, created });
    return change;
  };
  return {
    ...area,
    write: (path, content, options) => written(area.write(path, content, options)),
    edit: (path, text, options) => written(area.edit(path, text, options)),
    async delete(path, precondition) {
      await area.delete(path, precondition);
      await told({ change: 'deleted', path });
    },
    async move(from, to, precondition) {
      await area.move(from, to, precondition);
      await told({ change: 'moved', path: from, to });
    },
  };
}
