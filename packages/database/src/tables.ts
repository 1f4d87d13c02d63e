import type { ExecStatus } from '@secbox/contracts';

/** Columns as SQLite holds them: lists and objects as JSON text, flags as 0 and 1. */
export interface Tables {
  readonly sandbox_execs: SandboxExecsTable;
  readonly settings_versions: SettingsVersionsTable;
}

export interface SettingsVersionsTable {
  version: number;
  document: string;
  created_at: string;
}

export interface SandboxExecsTable {
  exec_id: string;
  project_id: string;
  task_id: string | null;
  conversation_id: string | null;
  skill_id: string | null;
  kind: string;
  image: string;
  image_digest: string;
  cmd: string;
  args: string;
  cwd: string;
  env_keys: string;
  policy_snapshot: string;
  artifacts_path: string;
  idempotency_key: string | null;
  request_hash: string;
  plan_hash: string;
  status: ExecStatus;
  exit_code: number | null;
  signal: string | null;
  oom: number;
  error_reason: string | null;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  duration_ms: number | null;
  stdout_truncated: number;
  stderr_truncated: number;
  artifacts_truncated: number;
  cpu_ms: number | null;
  peak_memory_bytes: number | null;
}
