import {
  answeredArtifacts,
  answeredOutputBytes,
  isFinal,
  type ArtifactRecord,
  type ArtifactSummary,
  type ExecAnswer,
  type ExecRecord,
  type FreshExec,
} from '@secbox/contracts';
import { join } from 'node:path';
import { artifactUrl } from './artifact-path.js';
import type { AuditRecords } from './audit-records.js';
import { openListed, type OpenedFile } from './open-file.js';
import type { OutputStream } from './open-output.js';

export interface AnswerOptions {
  /** How much of each stream it carries. */
  readonly outputBytes?: number;
}

/** The row together with what was recorded of its end: the same for whoever waited and for whoever asks later. */
export async function readAnswer(
  record: ExecRecord,
  records: Pick<AuditRecords, 'artifacts'>,
  { outputBytes = answeredOutputBytes }: AnswerOptions = {},
): Promise<ExecAnswer> {
  const evidence = isFinal(record.status) ? await readEvidence(record, records, outputBytes) : nothing;
  return { ...placesOf(record), ...evidence };
}

/** The same, from what is at hand. */
export function freshAnswer({ record, artifacts, stdout, stderr }: FreshExec): ExecAnswer {
  const items = artifacts.slice(0, answeredArtifacts + outputs);
  return {
    ...placesOf(record),
    stdout,
    stderr,
    ...listOf(record, items, items.length < artifacts.length),
  };
}

function placesOf(record: ExecRecord): Omit<ExecAnswer, keyof Evidence> {
  // From the row, not from today's root: that may have been moved since.
  const folder = record.artifacts_path;
  return {
    ...record,
    artifacts_dir: folder,
    stdout_path: join(folder, 'stdout.txt'),
    stderr_path: join(folder, 'stderr.txt'),
    artifacts_url: `/sandbox/execs/${record.exec_id}/artifacts`,
  };
}

const nothing = { stdout: '', stderr: '', artifacts: [], artifacts_complete: true } as const;

type Evidence = Pick<ExecAnswer, 'stdout' | 'stderr' | 'artifacts' | 'artifacts_complete'>;

async function readEvidence(
  record: ExecRecord,
  records: Pick<AuditRecords, 'artifacts'>,
  outputBytes: number,
): Promise<Evidence> {
  const limit = answeredArtifacts + outputs;
  const exec = { tenant: record.tenant, execId: record.exec_id };
  const { items, after } = await records.artifacts(exec, { limit, withOutput: true });
  const start = (stream: OutputStream) => {
    const output = items.find(({ kind }) => kind === stream);
    return output ? readStart(record, output, outputBytes) : '';
  };
  return {
    stdout: await start('stdout'),
    stderr: await start('stderr'),
    ...listOf(record, items, after !== undefined),
  };
}

const outputs = 2;

function listOf(
  record: ExecRecord,
  items: readonly ArtifactRecord[],
  more: boolean,
): Pick<Evidence, 'artifacts' | 'artifacts_complete'> {
  return {
    artifacts: items.flatMap((item) => summaryOf(record, item)),
    // Files come before all that is no file, so that the last one tells.
    artifacts_complete: !more || items.at(-1)?.kind !== 'file',
  };
}

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
async function readStart(record: ExecRecord, output: ArtifactRecord, most: number): Promise<string> {
  const opened = openOrNothing(record, output);
  if (!opened) return '';
  try {
    const buffer = Buffer.alloc(Math.min(opened.size, most));
    const length = await opened.file.read(buffer, 0);
    return buffer.toString('utf8', 0, length);
  } finally {
    opened.file.close();
  }
}

function openOrNothing(record: ExecRecord, output: ArtifactRecord): OpenedFile | undefined {
  try {
    return openListed(record, output);
  } catch {
    return undefined;
  }
}
