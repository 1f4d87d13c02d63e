import type { AuditLog, OpenedFile } from '@secbox/audit';
import {
  answeredOutputBytes,
  answeredTailBytes,
  parseTenantId,
  SecboxError,
  type ExecAnswer,
  type ExecRecord,
  type FreshExec,
  type InvocationAnswer,
} from '@secbox/contracts';
import { maxOutputBytes, outputFileName, outputOf } from '@secbox/exec-runner';
import type { JsonSchema } from '@secbox/skill-manifest';

export type InvocationRecord = ExecRecord & { readonly skill_id: string; readonly skill_digest: string };

/** Where an answer finds what its exec left behind. */
export interface AnswerSource {
  answer(): Promise<ExecAnswer> | ExecAnswer;
  /** Both throw, or give nothing, where there is no such file. */
  openFile(path: string): Promise<OpenedFile | undefined>;
  openStream(stream: 'stdout' | 'stderr'): Promise<OpenedFile | undefined>;
}

export function recordedSource(
  audit: Pick<AuditLog, 'answer' | 'openArtifact' | 'openOutput'>,
  record: ExecRecord,
): AnswerSource {
  const tenant = parseTenantId(record.tenant);
  return {
    answer: () => audit.answer(record),
    openFile: (path) => audit.openArtifact(tenant, record.exec_id, path),
    openStream: (stream) => audit.openOutput(tenant, record.exec_id, stream),
  };
}

export function freshSource(
  audit: Pick<AuditLog, 'answerFresh' | 'openFresh'>,
  exec: FreshExec,
): AnswerSource {
  const open = (path: string) => Promise.resolve().then(() => audit.openFresh(exec, path));
  return {
    answer: () => audit.answerFresh(exec),
    openFile: open,
    openStream: (stream) => open(`${stream}.txt`),
  };
}

export interface AnswerParts {
  readonly source: AnswerSource;
  /** What the skill promised; undefined when it is not as it was any more. */
  readonly outputs: JsonSchema | undefined;
}

export async function answerInvocation(
  record: InvocationRecord,
  parts: AnswerParts,
): Promise<InvocationAnswer> {
  const { exec_id, skill_id, skill_digest, project_id, status, exit_code, error_reason, duration_ms } =
    record;
  const { stdout, stderr, artifacts, artifacts_complete, artifacts_url } = await parts.source.answer();
  return {
    exec_id,
    skill_id,
    skill_digest,
    project_id,
    status,
    output: await readOutput(record, parts),
    output_error:
      record.output_error === null ? null : { code: 'skill_output_invalid', message: record.output_error },
    exit_code,
    error_reason,
    duration_ms,
    stdout_tail: await tailOf('stdout', stdout, parts),
    stderr_tail: await tailOf('stderr', stderr, parts),
    stdout_truncated: record.stdout_truncated,
    stderr_truncated: record.stderr_truncated,
    artifacts,
    artifacts_complete,
    artifacts_url,
    exec_url: `/sandbox/execs/${exec_id}`,
    events_url: `/sandbox/execs/${exec_id}/events`,
  };
}

/** Null where there is none to be had: before the end, after a failure, and once the files were removed. */
async function readOutput(record: InvocationRecord, { source, outputs }: AnswerParts): Promise<unknown> {
  if (record.status !== 'succeeded' || record.output_error !== null) return null;
  const file = await unlessLost(source.openFile(outputFileName));
  const opened = file === undefined ? await unlessLost(source.openStream('stdout')) : file;
  if (!opened) return null;
  const bytes = await readFrom(opened, 0, maxOutputBytes);
  const isFile = opened === file;
  if (outputs) return outputOf(bytes, { isFile, outputs })?.value ?? null;
  // It was checked then; what it was promised as is not known now, but text that is no JSON can only be text.
  return (
    outputOf(bytes, { isFile, outputs: {} }) ?? outputOf(bytes, { isFile, outputs: { type: 'string' } })
  )?.value;
}

/** The answer has the beginning already; only of long output the end is read. */
async function tailOf(
  stream: 'stdout' | 'stderr',
  beginning: string,
  { source }: AnswerParts,
): Promise<string> {
  if (Buffer.byteLength(beginning) < answeredOutputBytes) return beginning.slice(-answeredTailBytes);
  const opened = await unlessLost(source.openStream(stream));
  if (!opened) return '';
  const bytes = await readFrom(opened, Math.max(0, opened.size - answeredTailBytes), answeredTailBytes);
  // Not in the middle of a character.
  return bytes.toString('utf8').replace(/^\ufffd+/, '');
}

async function readFrom({ file, size }: OpenedFile, start: number, most: number): Promise<Buffer> {
  try {
    const buffer = Buffer.alloc(Math.min(size - start, most));
    return buffer.subarray(0, await file.read(buffer, start));
  } finally {
    file.close();
  }
}

/** Undefined where there never was such a file; null where it was removed, or is not what was recorded. */
async function unlessLost<T>(opening: Promise<T>): Promise<T | undefined | null> {
  try {
    return await opening;
  } catch (error) {
    if (!(error instanceof SecboxError)) throw error;
    if (error.code === 'artifact_not_found') return undefined;
    if (error.kind === 'not_found' || error.kind === 'conflict') return null;
    throw error;
  }
}
