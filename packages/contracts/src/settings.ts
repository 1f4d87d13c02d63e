import { approvalSettingsSchema, type ApprovalSettings } from './approval-settings.js';
import { namePattern } from './ids.js';

/** As the assessment of code knows them (packages/risk). */
export const securityModeNames = ['STRICT', 'PERMISSIVE'] as const;
export type SecurityModeName = (typeof securityModeNames)[number];

/** What an administrator decides for the whole installation. Absent means: the built-in default. */
export interface Settings {
  readonly sandbox?: SandboxSettings;
  /** Checked by the policy package, which knows the hard ceilings. */
  readonly policy?: { readonly values?: unknown; readonly ceilings?: unknown };
  readonly retention?: RetentionSettings;
  readonly quotas?: QuotaSettings;
  /** For what a human has to agree before it runs; absent: for nothing but skills that ask for it. */
  readonly approvals?: ApprovalSettings;
  readonly skills?: SkillSettings;
}

/** How long users' own skills and sandboxes stay; absent: 24 hours without use, and then 7 days in the trash. */
export interface SkillSettings {
  readonly idle_hours?: number;
  readonly trash_days?: number;
  /** What one user may have of skills with one agent, beside what the baseline has; absent: 2048. */
  readonly user_mb?: number;
}

/** What one tenant, or one key of it, may take; absent: as much as there is, and 6000 requests a minute. */
export interface TenantQuotas {
  readonly requests_per_minute?: number;
  readonly max_concurrent_execs?: number;
  readonly max_queued_execs?: number;
}

/** For every tenant, and for those that are named something else. */
export interface QuotaSettings extends TenantQuotas {
  readonly tenants?: Readonly<Record<string, TenantQuotas>>;
}

/** For how many days something is kept; absent: for ever. */
export interface RetentionSettings {
  /** The files of an exec, its output among them, from its end on. */
  readonly artifacts_days?: number;
  /** The inputs of a project from its last exec on, and contents that are nobody's input any more. */
  readonly inputs_days?: number;
  /** All of a project, its work too, from its last exec on. */
  readonly projects_days?: number;
}

export interface SandboxSettings {
  readonly max_concurrent_execs?: number;
  readonly max_queued_execs?: number;
  /** The size of a project's work folder. A disk grows to a larger one when it is next mounted, and never shrinks. */
  readonly project_work_mb?: number;
  /** What stays free for the database, whatever execs write. */
  readonly min_free_mb?: number;
  /** How many containers wait, started, for the execs to come; 0: none. */
  readonly pool_size?: number;
  /** One that the engine offers, by its name there; absent: the engine's default. */
  readonly runtime?: string;
  /** STRICT: every exec in a container. PERMISSIVE: what looks SAFE may do without, where an operator has turned that on. */
  readonly security_mode?: SecurityModeName;
  /** Whether containers that wait for an exec have a python up for it; absent: they have. */
  readonly python_ahead?: boolean;
  /** Where projects lie; taken when the server starts. */
  readonly workspace_root_win?: string;
  readonly workspace_root_wsl?: string;
  readonly workspace_root?: string;
}

/** One stored version. Version 0 is the empty Settings of a new installation and is not stored. */
export interface SettingsVersion {
  readonly version: number;
  readonly settings: Settings;
  readonly created_at: string | null;
}

const days = { type: 'integer', minimum: 1, maximum: 36_500 } as const;
const quotas = {
  requests_per_minute: { type: 'integer', minimum: 1, maximum: 1_000_000 },
  max_concurrent_execs: { type: 'integer', minimum: 1, maximum: 256 },
  max_queued_execs: { type: 'integer', minimum: 0, maximum: 100_000 },
} as const;
const path = { type: 'string', minLength: 1, maxLength: 1024 } as const;

export const settingsSchema = {
  $id: 'urn:secbox:settings',
  type: 'object',
  additionalProperties: false,
  properties: {
    sandbox: {
      type: 'object',
      additionalProperties: false,
      properties: {
        max_concurrent_execs: { type: 'integer', minimum: 1, maximum: 256 },
        max_queued_execs: { type: 'integer', minimum: 0, maximum: 100_000 },
        project_work_mb: { type: 'integer', minimum: 32, maximum: 1_048_576 },
        min_free_mb: { type: 'integer', minimum: 1, maximum: 1_048_576 },
        pool_size: { type: 'integer', minimum: 0, maximum: 64 },
        runtime: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' },
        security_mode: { enum: securityModeNames },
        python_ahead: { type: 'boolean' },
        workspace_root_win: path,
        workspace_root_wsl: path,
        workspace_root: path,
      },
    },
    policy: {
      type: 'object',
      additionalProperties: false,
      properties: { values: { type: 'object' }, ceilings: { type: 'object' } },
    },
    retention: {
      type: 'object',
      additionalProperties: false,
      properties: { artifacts_days: days, inputs_days: days, projects_days: days },
    },
    skills: {
      type: 'object',
      additionalProperties: false,
      properties: {
        idle_hours: { type: 'integer', minimum: 1, maximum: 876_000 },
        trash_days: days,
        user_mb: { type: 'integer', minimum: 1, maximum: 1_048_576 },
      },
    },
    quotas: {
      type: 'object',
      additionalProperties: false,
      properties: {
        ...quotas,
        tenants: {
          type: 'object',
          maxProperties: 10_000,
          propertyNames: { pattern: namePattern },
          additionalProperties: { type: 'object', additionalProperties: false, properties: quotas },
        },
      },
    },
    approvals: approvalSettingsSchema,
  },
} as const;
