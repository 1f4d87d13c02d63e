import type { FileHandle } from 'node:fs/promises';
import { SecboxError, type ArtifactRecord, type ExecRecord, type ExecTombstone } from '@secbox/contracts';
import { isErrno, openPublished, type ContentStore } from '@secbox/workspace';
import { pathOf } from './artifact-path.js';

/** A file to be sent; whoever gets it closes it. */
export interface OpenedFile {
  readonly file: FileHandle;
  readonly size: number;
  /** Null while it still grows. */
  readonly sha256: string | null;
  readonly mediaType: string;
}

/** Opens a listed file where its exec left it; what is not as it was listed is not handed out. */
export async function openListed(
  record: Pick<ExecRecord, 'artifacts_path' | keyof ExecTombstone>,
  artifact: ArtifactRecord,
): Promise<OpenedFile> {
  assertKept(record);
  const { size, sha256, media_type: mediaType } = artifact;
  const file = await openPublished(record.artifacts_path, pathOf(artifact)).catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) throw gone();
    if (isErrno(error, 'ENOTDIR', 'ELOOP', 'ENXIO')) return undefined;
    throw error;
  });
  if (!file || size === null) throw changed();
  try {
    if ((await file.stat()).size !== size) throw changed();
    return { file, size, sha256, mediaType: mediaType ?? 'application/octet-stream' };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Opens what an input held. */
export async function openContent(
  contents: ContentStore,
  { size, sha256 }: { readonly size: number; readonly sha256: string },
): Promise<OpenedFile> {
  const file = await contents.open(sha256).catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) throw gone();
    throw error;
  });
  if ((await file.stat()).size !== size) {
    await file.close();
    throw changed();
  }
  return { file, size, sha256, mediaType: 'application/octet-stream' };
}

/** Throws when the files of an exec were removed, with what its tombstone says. */
export function assertKept({
  files_removed_at,
  files_removed_reason,
  files_removed_by,
}: ExecTombstone): void {
  if (files_removed_at !== null) throw gone({ files_removed_at, files_removed_reason, files_removed_by });
}

function gone(tombstone?: ExecTombstone): SecboxError {
  return new SecboxError(
    'artifact_gone',
    'This file is recorded, but is not kept any more.',
    tombstone === undefined ? {} : { details: { ...tombstone } },
  );
}

function changed(): SecboxError {
  return new SecboxError('artifact_changed', 'What is in this place is not the file that was recorded.');
}
