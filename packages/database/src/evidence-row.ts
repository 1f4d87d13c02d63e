import type { ArtifactRecord, ExecId, InputRecord } from '@secbox/contracts';
import type { Insertable, Selectable } from 'kysely';
import type { ExecArtifactsTable, ExecInputsTable } from './tables.js';

export function toInputRow(execId: ExecId, input: InputRecord, ordinal: number): Insertable<ExecInputsTable> {
  const secret = 'secret' in input;
  return {
    exec_id: execId,
    ordinal,
    path: input.path,
    size: secret ? null : input.size,
    sha256: secret ? null : input.sha256,
    secret: Number(secret),
  };
}

export function fromInputRow({
  path,
  size,
  sha256,
}: Pick<Selectable<ExecInputsTable>, 'path' | 'size' | 'sha256'>): InputRecord {
  return size === null || sha256 === null ? { path, secret: true } : { path, size, sha256 };
}

export function toArtifactRow(
  execId: ExecId,
  { path_base64: raw, ...artifact }: ArtifactRecord,
  ordinal: number,
): Insertable<ExecArtifactsTable> {
  return { exec_id: execId, ordinal, ...artifact, path_base64: raw ?? null };
}

export function fromArtifactRow({
  exec_id: _exec,
  ordinal: _ordinal,
  path_base64: raw,
  ...artifact
}: Selectable<ExecArtifactsTable>): ArtifactRecord {
  return { ...artifact, ...(raw === null ? {} : { path_base64: raw }) };
}
