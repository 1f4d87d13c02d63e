import {
  answeredArtifacts,
  answeredOutputBytes,
  isFinal,
  type ArtifactRecord,
  type ArtifactSummary,
  type ExecAnswer,
  type ExecRecord,
} from '@secbox/contracts';
import { join } from 'node:path';
import { artifactUrl } from './artifact-path.js';
import type { AuditRecords } from './audit-records.js';
import { openListed } from './open-file.js';
import type { OutputStream } from './open-output.js';

/** The row together with what was recorded of its end: the same for whoever waited and for whoever asks later. */
export async function readAnswer(
  record: ExecRecord,
  records: Pick<AuditRecords, 'artifacts'>,
): Promise<ExecAnswer> {
  // From the row, not from today's root: that may have been moved since.
  const folder = record.artifacts_path;
  return {
    ...record,
    artifacts_dir: folder,
    stdout_path: join(folder, 'stdout.txt'),
    stderr_path: join(folder, 'stderr.txt'),
    artifacts_url: `/sandbox/execs/${record.exec_id}/artifacts`,
    ...(isFinal(record.status) ? await readEvidence(record, records) : nothing),
  };
}

const nothing = { stdout: '', stderr: '', artifacts: [], artifacts_complete: true } as const;

type Evidence = Pick<ExecAnswer, 'stdout' | 'stderr' | 'artifacts' | 'artifacts_complete'>;

async function readEvidence(record: ExecRecord, records: Pick<AuditRecords, 'artifacts'>): Promise<Evidence> {
  const limit = answeredArtifacts + outputs;
  const { items, after } = await records.artifacts(record.exec_id, { limit, withOutput: true });
  const start = async (stream: OutputStream) => {
    const output = items.find(({ kind }) => kind === stream);
    return output ? readStart(record, output) : '';
  };
  return {
    stdout: await start('stdout'),
    stderr: await start('stderr'),
    artifacts: items.flatMap((item) => summaryOf(record, item)),
    // Files come before all that is no file, so that the last one tells.
    artifacts_complete: after === undefined || items.at(-1)?.kind !== 'file',
  };
}

const outputs = 2;

function summaryOf(
  { exec_id: execId, files_removed_at: removed }: ExecRecord,
  artifact: ArtifactRecord,
): ArtifactSummary[] {
  const { kind, dropped, size, sha256, media_type: mediaType, path, path_base64: raw } = artifact;
  if (kind !== 'file' || dropped !== null || size === null || sha256 === null) return [];
  return [
    {
      path,
      ...(raw === undefined ? {} : { path_base64: raw }),
      size,
      sha256,
      media_type: mediaType ?? 'application/octet-stream',
      url: removed === null ? artifactUrl(execId, artifact) : null,
    },
  ];
}

/** What was deleted since, or is not what it was, is not shown as what the exec printed. */
async function readStart(record: ExecRecord, output: ArtifactRecord): Promise<string> {
  const opened = await openListed(record, output).catch(() => undefined);
  if (!opened) return '';
  try {
    const buffer = Buffer.alloc(Math.min(opened.size, answeredOutputBytes));
    const { bytesRead } = await opened.file.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead).toString('utf8');
  } finally {
    await opened.file.close();
  }
}
