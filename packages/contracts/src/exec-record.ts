import type { ArtifactRecord, ExecEvidence } from './exec-evidence.js';
import type { ExecKind } from './exec-request.js';
import type { ExecStatus, FinalExecStatus } from './exec-status.js';
import type { ExecId, ProjectId } from './ids.js';
import type { LayerEffects } from './layer-effects.js';
import type { PolicySnapshot } from './policy-values.js';

/** The audit row of one exec: who asked for what under which policy, and how it ended. */
export interface ExecRecord extends ExecSubmission, ExecOutcome, ExecTombstone {
  readonly status: ExecStatus;
  readonly started_at: string | null;
  readonly queue_ms: number | null;
  readonly start_mode: StartMode | null;
  readonly skill_version: string | null;
  readonly skill_source: SkillSource | null;
}

/** What is known, and recorded, before anything runs. Of the environment only the names: values may be secret. */
export interface ExecSubmission {
  readonly exec_id: ExecId;
  readonly tenant: string;
  /** The key that asked; null where callers are not told apart. */
  readonly actor: string | null;
  readonly project_id: ProjectId;
  readonly task_id: string | null;
  readonly conversation_id: string | null;
  readonly skill_id: string | null;
  /** Of all files of the skill, as it was when it was invoked. */
  readonly skill_digest: string | null;
  /** Whose layered skill, or general sandbox, it runs in; null for every other exec. */
  readonly user_id: string | null;
  readonly agent_id: string | null;
  /** `argv`: a program of a skill, with its arguments as they are. */
  readonly kind: ExecKind | 'argv';
  readonly sandbox_type: SandboxType;
  readonly image: string;
  readonly image_digest: string;
  readonly cmd: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env_keys: readonly string[];
  readonly policy_snapshot: PolicySnapshot;
  readonly artifacts_path: string;
  /** What the caller called this request, so that sending it again does not run it again. */
  readonly idempotency_key: string | null;
  /** Keyed hashes: of the request as it was sent, and of everything that was decided to run. */
  readonly request_hash: string;
  readonly plan_hash: string;
  readonly created_at: string;
}

/** What is left of an exec's files once they were removed; null while they are kept. */
export interface ExecTombstone {
  readonly files_removed_at: string | null;
  readonly files_removed_reason: RemovalReason | null;
  /** Who asked for it, or the version of Settings that did; null when callers are not told apart. */
  readonly files_removed_by: string | null;
}

/** `retention`: they were kept as long as Settings say; `deleted`: somebody removed their project. */
export const removalReasons = ['retention', 'deleted'] as const;
export type RemovalReason = (typeof removalReasons)[number];

export const sandboxTypes = ['docker', 'subprocess'] as const;
export type SandboxType = (typeof sandboxTypes)[number];

/** `cold`: its container was made for it; `warm`: it was waiting already. */
export const startModes = ['cold', 'warm'] as const;
export type StartMode = (typeof startModes)[number];

/** What is known when the exec starts. */
export interface ExecStart {
  readonly started_at: string;
  /** From its record to its turn. */
  readonly queue_ms: number;
  readonly start_mode: StartMode;
  /** Of a layered skill: the hash of all its files as it began, and the topmost layer that they came from. */
  readonly skill_version?: string;
  readonly skill_source?: SkillSource;
}

/** The global tool pack, a version of the baseline as it is, or what a user made of it: the n-th generation. */
export type SkillSource = 'global' | 'baseline' | `overlay:${number}`;

/** What is known once the exec is over; null until then. */
export interface ExecOutcome {
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly oom: boolean;
  readonly error_reason: string | null;
  readonly ended_at: string | null;
  readonly duration_ms: number | null;
  readonly stdout_truncated: boolean;
  readonly stderr_truncated: boolean;
  readonly artifacts_truncated: boolean;
  /** Of the whole container; null where the kernel or the image does not tell. */
  readonly cpu_ms: number | null;
  readonly peak_memory_bytes: number | null;
  /** How the output of a skill that succeeded breaks what its manifest promises; null when it does not. */
  readonly output_error: string | null;
  /** What it did to a layered skill; null where it ran in none. */
  readonly effects: LayerEffects | null;
}

export interface FinishedExec extends ExecOutcome {
  readonly status: FinalExecStatus;
}

/** An exec that has just ended, as its row and files tell it to whoever asks later. */
export interface FreshExec {
  readonly record: ExecRecord;
  readonly artifacts: readonly ArtifactRecord[];
  /** As much of each as an answer has. */
  readonly stdout: string;
  readonly stderr: string;
}

/** The end of an exec as it is recorded: with what it could see and what it left behind. */
export interface EndedExec extends FinishedExec {
  readonly evidence: ExecEvidence;
}

/** The end of an exec that never got as far as a result. */
export function neverRan(status: FinalExecStatus, reason: string, endedAt: Date): FinishedExec {
  return {
    status,
    exit_code: null,
    signal: null,
    oom: false,
    error_reason: reason,
    ended_at: endedAt.toISOString(),
    duration_ms: null,
    stdout_truncated: false,
    stderr_truncated: false,
    artifacts_truncated: false,
    cpu_ms: null,
    peak_memory_bytes: null,
    output_error: null,
    effects: null,
  };
}
