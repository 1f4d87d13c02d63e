import type { ExecRecord, ExecSubmission, FreshExec } from '@secbox/contracts';
import type { PlanEnd } from './run-plan.js';

/** The row as it is written: its parts, and no tombstone. */
export function freshOf(submission: ExecSubmission, { ended, start, stdout, stderr }: PlanEnd): FreshExec {
  const { evidence, ...finished } = ended;
  const record = { ...submission, ...inNoLayer, ...start, ...finished, ...noTombstone };
  return { record, artifacts: evidence.artifacts, stdout, stderr };
}

/** The row of an exec as its documents tell it: without what they leave out. */
export function toldOf(record: ExecRecord): ExecRecord {
  const isTold = ([name, value]: [string, unknown]) =>
    !(name in noTombstone) && !(name in inNoLayer && value === null);
  return Object.fromEntries(Object.entries(record).filter(isTold)) as unknown as ExecRecord;
}

const inNoLayer = { skill_version: null, skill_source: null } as const;
const noTombstone = { files_removed_at: null, files_removed_reason: null, files_removed_by: null } as const;
