import { sandboxTypes, type SandboxType, type SkillSource } from './exec-record.js';
import { pageLimit, plainCursor } from './paging.js';
import { execIdPattern, namePattern, type ExecId, type ProjectId } from './ids.js';
import type { PolicyValues } from './policy-values.js';
import { riskLevelNames, riskReportSchema, type RiskLevelName, type RiskReport } from './risk-level.js';

/**
 * `withdrawn`: cancelled before anyone decided; `void`: what was to run is not what was shown any more, is lost, or could
 * not be started. A request leaves `pending` once.
 */
export const approvalStates = ['pending', 'approved', 'denied', 'expired', 'withdrawn', 'void'] as const;
export type ApprovalState = (typeof approvalStates)[number];

/** `api`: somebody with a key; `auto-approve`: nobody, as Settings have it for development. */
export const decisionWays = ['api', 'auto-approve'] as const;
export type DecisionWay = (typeof decisionWays)[number];

/** A request for a human's word, as it is listed. There is one at most for an exec, and it has its id. */
export interface ApprovalSummary {
  readonly approval_id: ExecId;
  readonly exec_id: ExecId;
  readonly tenant: string;
  readonly project_id: ProjectId;
  readonly skill_id: string | null;
  /** The key that asked; it cannot decide. */
  readonly requested_by: string | null;
  readonly requested_at: string;
  readonly expires_at: string;
  /** Why a human has to agree. */
  readonly needed_because: string;
  /** Null where nobody looked, as it would have made no difference. */
  readonly risk_level: RiskLevelName | null;
  /** Of all that was decided to run: whoever approves names it. */
  readonly plan_hash: string;
  readonly state: ApprovalState;
  readonly decided_by: string | null;
  readonly decided_through: DecisionWay | null;
  readonly decided_at: string | null;
  readonly decision_reason: string | null;
}

/** All that an approver sees. */
export interface Approval extends ApprovalSummary {
  readonly plan: ShownPlan;
  readonly risk: RiskReport | null;
}

/** What will run, if it is approved, and nothing else. */
export interface ShownPlan {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** Names only: values may be secret. They are part of the hash. */
  readonly env_keys: readonly string[];
  readonly stdin_bytes: number;
  /** A keyed hash of stdin: the same stdin has the same one, and it tells nothing else. Null where there is none. */
  readonly stdin_hash: string | null;
  /** What takes part in what runs and is shown to nobody, in words; null where nobody noted it. */
  readonly unseen: readonly string[] | null;
  /** Every input that it will see: those it brings, and those of its project. */
  readonly inputs: readonly ShownInput[];
  readonly image: string;
  readonly image_digest: string;
  readonly skill_digest: string | null;
  /** Of the layered skill that it works on: the version that its user sees, and where that comes from. */
  readonly skill_version: string | null;
  readonly skill_source: SkillSource | null;
  /** Whose layered skill or general sandbox it works on. */
  readonly user_id: string | null;
  readonly agent_id: string | null;
  /** Null of those that were shown before it was noted. */
  readonly sandbox_type: SandboxType | null;
  readonly read_only_work: boolean;
  readonly limits: PolicyValues;
}

export type ShownInput =
  | {
      readonly path: string;
      readonly size: number;
      readonly sha256: string;
      /** Whether the request brings it; else it was there before. */
      readonly brought: boolean;
      /** How it begins, as text; null where it is not text, or there are too many to show. */
      readonly preview: string | null;
      readonly preview_complete: boolean;
    }
  | { readonly path: string; readonly secret: true; readonly brought: boolean };

export interface ApprovalPage {
  readonly approvals: readonly ApprovalSummary[];
  readonly next_cursor: string | null;
}

export interface ApprovalListQuery {
  readonly state?: ApprovalState;
  readonly cursor?: string;
  readonly limit?: number;
}

/** The body of `POST /approvals/{approval_id}/decision`. */
export interface ApprovalDecision {
  readonly decision: 'approve' | 'deny';
  /** What was looked at. */
  readonly plan_hash: string;
  readonly reason?: string;
}

const text = { type: 'string' } as const;
const time = { type: 'string', format: 'date-time' } as const;
const count = { type: 'integer', minimum: 0 } as const;
const flag = { type: 'boolean' } as const;
const hash = { type: 'string', pattern: '^[0-9a-f]{64}$' } as const;
const uuid = { type: 'string', pattern: execIdPattern } as const;
const orNull = (schema: object) => ({ anyOf: [schema, { type: 'null' }] });
const allOf = <Properties extends object>(properties: Properties) =>
  ({ type: 'object', additionalProperties: false, required: Object.keys(properties), properties }) as const;

const summary = {
  approval_id: uuid,
  exec_id: uuid,
  tenant: text,
  project_id: { type: 'string', pattern: namePattern },
  skill_id: orNull(text),
  requested_by: orNull(text),
  requested_at: time,
  expires_at: time,
  needed_because: text,
  risk_level: orNull({ type: 'string', enum: riskLevelNames }),
  plan_hash: hash,
  state: { type: 'string', enum: approvalStates },
  decided_by: orNull(text),
  decided_through: orNull({ type: 'string', enum: decisionWays }),
  decided_at: orNull(time),
  decision_reason: orNull(text),
} as const;

export const approvalPageSchema = allOf({
  approvals: { type: 'array', items: allOf(summary) },
  next_cursor: orNull(text),
});

export const approvalSchema = allOf({
  ...summary,
  plan: allOf({
    argv: { type: 'array', items: text },
    cwd: text,
    env_keys: { type: 'array', items: text },
    stdin_bytes: count,
    stdin_hash: orNull(hash),
    unseen: orNull({ type: 'array', items: text }),
    inputs: {
      type: 'array',
      items: {
        oneOf: [
          allOf({
            path: text,
            size: count,
            sha256: hash,
            brought: flag,
            preview: orNull(text),
            preview_complete: flag,
          }),
          allOf({ path: text, secret: { type: 'boolean', const: true }, brought: flag }),
        ],
      },
    },
    image: text,
    image_digest: text,
    skill_digest: orNull(hash),
    skill_version: orNull(text),
    skill_source: orNull(text),
    user_id: orNull(text),
    agent_id: orNull(text),
    sandbox_type: orNull({ type: 'string', enum: sandboxTypes }),
    read_only_work: flag,
    limits: { type: 'object' },
  }),
  risk: orNull(riskReportSchema),
});

export const approvalListQuerySchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    state: { type: 'string', enum: approvalStates },
    cursor: plainCursor,
    limit: pageLimit,
  },
} as const;

export const approvalDecisionSchema = {
  $id: 'urn:secbox:approval-decision',
  type: 'object',
  additionalProperties: false,
  required: ['decision', 'plan_hash'],
  properties: {
    decision: { type: 'string', enum: ['approve', 'deny'] },
    plan_hash: hash,
    reason: { type: 'string', minLength: 1, maxLength: 2000, pattern: '^[^\\p{Cc}]*$' },
  },
} as const;
