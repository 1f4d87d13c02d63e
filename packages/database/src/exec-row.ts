import {
  parseExecId,
  parseProjectId,
  type ExecRecord,
  type ExecSubmission,
  type FinishedExec,
  type PolicySnapshot,
} from '@secbox/contracts';
import type { Insertable, Selectable, Updateable } from 'kysely';
import type { SandboxExecsTable } from './tables.js';

export function toRow(submission: ExecSubmission): Omit<Insertable<SandboxExecsTable>, 'seq'> {
  return {
    ...submission,
    args: JSON.stringify(submission.args),
    env_keys: JSON.stringify(submission.env_keys),
    policy_snapshot: JSON.stringify(submission.policy_snapshot),
    status: 'queued',
    exit_code: null,
    signal: null,
    oom: 0,
    error_reason: null,
    started_at: null,
    queue_ms: null,
    start_mode: null,
    skill_version: null,
    skill_source: null,
    ended_at: null,
    duration_ms: null,
    stdout_truncated: 0,
    stderr_truncated: 0,
    artifacts_truncated: 0,
    cpu_ms: null,
    peak_memory_bytes: null,
    output_error: null,
    effects: null,
    files_removed_at: null,
    files_removed_reason: null,
    files_removed_by: null,
  };
}

export function toFinalColumns(finished: FinishedExec): Updateable<SandboxExecsTable> {
  return {
    ...finished,
    oom: Number(finished.oom),
    stdout_truncated: Number(finished.stdout_truncated),
    stderr_truncated: Number(finished.stderr_truncated),
    artifacts_truncated: Number(finished.artifacts_truncated),
    effects: finished.effects && JSON.stringify(finished.effects),
  };
}

export function fromRow({ seq: _, ...row }: Selectable<SandboxExecsTable>): ExecRecord {
  return {
    ...row,
    exec_id: parseExecId(row.exec_id),
    project_id: parseProjectId(row.project_id),
    kind: row.kind as ExecRecord['kind'],
    sandbox_type: row.sandbox_type as ExecRecord['sandbox_type'],
    args: JSON.parse(row.args) as string[],
    env_keys: JSON.parse(row.env_keys) as string[],
    policy_snapshot: JSON.parse(row.policy_snapshot) as PolicySnapshot,
    oom: row.oom === 1,
    stdout_truncated: row.stdout_truncated === 1,
    stderr_truncated: row.stderr_truncated === 1,
    artifacts_truncated: row.artifacts_truncated === 1,
    skill_source: row.skill_source as ExecRecord['skill_source'],
    effects: row.effects === null ? null : (JSON.parse(row.effects) as ExecRecord['effects']),
  };
}
