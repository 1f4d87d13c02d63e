import type {
  ApprovalState,
  ArtifactKind,
  DecisionWay,
  DropReason,
  ExecStatus,
  RemovalReason,
  RiskLevelName,
  SecurityEventType,
  StartMode,
} from '@secbox/contracts';

/** Columns as SQLite holds them: lists and objects as JSON text, flags as 0 and 1. */
export interface Tables {
  readonly sandbox_execs: SandboxExecsTable;
  readonly sandbox_exec_commands: { rowid: number };
  readonly commands_to_index: { seq: number };
  readonly command_places: { tenant: string; place: number };
  readonly sandbox_exec_inputs: ExecInputsTable;
  readonly sandbox_exec_artifacts: ExecArtifactsTable;
  readonly sandbox_exec_leftovers: { exec_id: string };
  readonly project_removals: ProjectRemovalsTable;
  readonly project_contents: { tenant: string; sha256: string; project_id: string };
  readonly project_changes: { tenant: string; project_id: string; changed_at: string };
  readonly settings_versions: SettingsVersionsTable;
  readonly api_keys: ApiKeysTable;
  readonly security_events: SecurityEventsTable;
  readonly agent_skill_registry: AgentSkillRegistryTable;
  readonly approvals: ApprovalsTable;
  readonly webhook_deliveries: WebhookDeliveriesTable;
}

export interface WebhookDeliveriesTable {
  delivery: string;
  exec_id: string;
  type: 'approval.requested' | 'approval.settled';
  created_at: string;
  tries: number;
  next_at: string;
}

export interface ApprovalsTable {
  seq: number;
  exec_id: string;
  tenant: string;
  project_id: string;
  skill_id: string | null;
  requested_by: string | null;
  requested_at: string;
  expires_at: string;
  needed_because: string;
  risk_level: RiskLevelName | null;
  plan_hash: string;
  shown: string;
  state: ApprovalState;
  decided_by: string | null;
  decided_through: DecisionWay | null;
  decided_at: string | null;
  decision_reason: string | null;
}

export interface ApiKeysTable {
  seq: number;
  key_id: string;
  tenant: string;
  roles: string;
  label: string | null;
  prefix: string;
  digest: string;
  user_patterns: string | null;
  agent_patterns: string | null;
  created_at: string;
  created_by: string | null;
  expires_at: string | null;
  revoked_at: string | null;
  revoked_by: string | null;
  last_used_at: string | null;
}

export interface SecurityEventsTable {
  seq: number;
  event_id: string;
  type: SecurityEventType;
  tenant: string | null;
  actor: string | null;
  address: string | null;
  subject: string | null;
  details: string;
  at: string;
  count: number;
  last_at: string;
}

export interface AgentSkillRegistryTable {
  id: string;
  tenant: string;
  agent_id: string;
  skill_id: string;
  user_id: string | null;
  name: string;
  description: string;
  created_at: string;
  updated_at: string;
}

export interface ProjectRemovalsTable {
  removal_id: string;
  tenant: string;
  project_id: string;
  scope: 'project' | 'inputs';
  reason: RemovalReason;
  removed_by: string | null;
  begun_at: string;
  ended_at: string | null;
  through_seq: number;
}

export interface SettingsVersionsTable {
  version: number;
  document: string;
  created_at: string;
}

export interface ExecInputsTable {
  exec_id: string;
  ordinal: number;
  path: string;
  size: number | null;
  sha256: string | null;
  secret: number;
}

export interface ExecArtifactsTable {
  exec_id: string;
  ordinal: number;
  path: string;
  path_base64: string | null;
  kind: ArtifactKind;
  size: number | null;
  sha256: string | null;
  media_type: string | null;
  dropped: DropReason | null;
}

export interface SandboxExecsTable {
  /** The milliseconds of created_at times 1000, plus a count: unique, and in the order of creation. */
  seq: number;
  exec_id: string;
  tenant: string;
  actor: string | null;
  project_id: string;
  task_id: string | null;
  conversation_id: string | null;
  skill_id: string | null;
  skill_digest: string | null;
  user_id: string | null;
  agent_id: string | null;
  kind: string;
  sandbox_type: string;
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
  queue_ms: number | null;
  start_mode: StartMode | null;
  skill_version: string | null;
  skill_source: string | null;
  ended_at: string | null;
  duration_ms: number | null;
  stdout_truncated: number;
  stderr_truncated: number;
  artifacts_truncated: number;
  cpu_ms: number | null;
  peak_memory_bytes: number | null;
  output_error: string | null;
  effects: string | null;
  files_removed_at: string | null;
  files_removed_reason: RemovalReason | null;
  files_removed_by: string | null;
}
