import { isFinal, type ExecRecord } from '@secbox/contracts';
import { isErrno, openPublished } from '@secbox/workspace';
import type { AuditRecords } from './audit-records.js';
import { openListed, type OpenedFile } from './open-file.js';

export const outputStreams = ['stdout', 'stderr'] as const;
export type OutputStream = (typeof outputStreams)[number];

export interface OutputPlace {
  readonly records: Pick<AuditRecords, 'findArtifact'>;
  /** Where an exec's output is while it runs. */
  readonly spoolOf: (record: ExecRecord) => string;
  readonly findAgain: () => Promise<ExecRecord>;
}

/**
 * What an exec printed, or has printed so far; undefined when there is nothing. The artifact folder is the
 * program's own until its output is recorded: whatever is called stdout.txt there before is not ours.
 */
export async function openOutput(
  record: ExecRecord,
  stream: OutputStream,
  place: OutputPlace,
): Promise<OpenedFile | undefined> {
  if (isFinal(record.status)) return openRecorded(record, stream, place);
  try {
    const file = openPublished(place.spoolOf(record), [`${stream}.txt`]);
    if (!file) return undefined;
    return { file, size: file.stat().size, sha256: null, mediaType: outputType };
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
    // Not begun, or over since it was looked up.
    const now = await place.findAgain();
    return isFinal(now.status) ? openRecorded(now, stream, place) : undefined;
  }
}

async function openRecorded(record: ExecRecord, stream: OutputStream, { records }: OutputPlace) {
  const exec = { tenant: record.tenant, execId: record.exec_id };
  const output = await records.findArtifact(exec, { path: `${stream}.txt` });
  return output?.kind === stream ? { ...openListed(record, output), mediaType: outputType } : undefined;
}

/** The bytes are the program's own; this is what they are most of the time. */
export const outputType = 'text/plain; charset=utf-8';
