import { SecboxError, type ArtifactRecord, type ExecRecord, type ExecTombstone } from '@secbox/contracts';
import { isErrno, openPublished, type ContentStore, type OpenFile } from '@secbox/workspace';
import { pathOf } from './artifact-path.js';

/** A file to be sent; whoever gets it closes it. */
export interface OpenedFile {
  readonly file: OpenFile;
  readonly size: number;
  /** Null while it still grows. */
  readonly sha256: string | null;
  readonly mediaType: string;
}

/** Opens a listed file where its exec left it; what is not as it was listed is not handed out. */
export function openListed(
  record: Pick<ExecRecord, 'artifacts_path' | keyof ExecTombstone>,
  artifact: ArtifactRecord,
): OpenedFile {
  assertKept(record);
  const { size, sha256, media_type: mediaType } = artifact;
  const file = openIfThere(() => openPublished(record.artifacts_path, pathOf(artifact)));
  if (file === 'gone') throw gone();
  return { ...ofSize(file, size), sha256, mediaType: mediaType ?? 'application/octet-stream' };
}

/** Opens what an input held; undefined when that is not kept any more. */
export function openContent(
  contents: ContentStore,
  { size, sha256 }: { readonly size: number; readonly sha256: string },
): OpenedFile | undefined {
  const file = openIfThere(() => contents.open(sha256));
  return file === 'gone'
    ? undefined
    : { ...ofSize(file, size), sha256, mediaType: 'application/octet-stream' };
}

/** Undefined when something else than a file is there. */
function openIfThere(open: () => OpenFile | undefined): OpenFile | 'gone' | undefined {
  try {
    return open();
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return 'gone';
    if (isErrno(error, 'ENOTDIR', 'ELOOP', 'ENXIO')) return undefined;
    throw error;
  }
}

function ofSize(file: OpenFile | undefined, size: number | null): Pick<OpenedFile, 'file' | 'size'> {
  if (file && size !== null && file.stat().size === size) return { file, size };
  file?.close();
  throw changed();
}

/** Throws when the files of an exec were removed, with what its tombstone says. */
export function assertKept({
  files_removed_at,
  files_removed_reason,
  files_removed_by,
}: ExecTombstone): void {
  if (files_removed_at !== null) throw gone({ files_removed_at, files_removed_reason, files_removed_by });
}

/** With what is known of its end. */
export function gone(tombstone?: ExecTombstone): SecboxError {
  return new SecboxError(
    'artifact_gone',
    'This file is recorded, but is not kept any more.',
    tombstone === undefined ? {} : { details: { ...tombstone } },
  );
}

function changed(): SecboxError {
  return new SecboxError('artifact_changed', 'What is in this place is not the file that was recorded.');
}
