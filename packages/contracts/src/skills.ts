import { artifactSummarySchema, listOf, orNull, record } from './answer-schemas.js';
import type { ArtifactSummary } from './exec-answer.js';
import type { TaskRef } from './exec-request.js';
import { execStatuses, type ExecStatus } from './exec-status.js';
import { execIdPattern, namePattern, type ExecId, type ProjectId } from './ids.js';
import { pageCursor, pageLimit } from './paging.js';

/** The body of `POST /skills/{id}/invoke`, after {@link invocationRequestSchema} accepted it. */
export interface InvocationRequest {
  /** Checked against the skill's own schema. */
  readonly inputs?: Readonly<Record<string, unknown>>;
  /** Without one the invocation gets a project of its own, of which only the artifacts stay. */
  readonly project_id?: string;
  readonly policy_overrides?: Readonly<Record<string, unknown>>;
  readonly task_ref?: TaskRef;
}

/** One thing that is wrong with a skill's folder, and where. */
export interface SkillProblemAnswer {
  readonly file: string;
  readonly pointer: string;
  readonly line: number | null;
  readonly column: number | null;
  readonly message: string;
  readonly found?: string;
  readonly expected?: string;
  readonly suggestion?: string;
}

/** A skill as `GET /skills` lists it. What comes of the manifest is null where that could not be read. */
export interface SkillAnswer {
  readonly id: string;
  readonly valid: boolean;
  readonly digest: string;
  readonly name: string | null;
  readonly description: string | null;
  readonly interface: { readonly inputs: object; readonly outputs: object } | null;
  readonly runtime: object | null;
  readonly permissions: object | null;
  readonly limits: object | null;
  readonly problems: readonly SkillProblemAnswer[];
}

/** What `GET /skills/{id}` answers. */
export interface SkillDetail extends SkillAnswer {
  /** The text of its README.md. */
  readonly readme: string | null;
  readonly files_url: string;
}

export interface SkillPage {
  readonly skills: readonly SkillAnswer[];
  readonly next_cursor: string | null;
}

export interface SkillListQuery {
  readonly valid?: 'true' | 'false';
  readonly q?: string;
  readonly cursor?: string;
  readonly limit?: number;
}

/** What `GET /skills/{id}/files` answers. */
export interface SkillFileListing {
  readonly id: string;
  readonly digest: string;
  readonly files: readonly {
    readonly path: string;
    readonly size: number;
    readonly sha256: string;
    readonly executable: boolean;
    /** Whether a program that runs sees it. */
    readonly for_program: boolean;
  }[];
}

/** What an invocation answers, at once and later. */
export interface InvocationAnswer {
  readonly exec_id: ExecId;
  readonly skill_id: string;
  readonly skill_digest: string;
  readonly project_id: ProjectId;
  readonly status: ExecStatus;
  /** Null until the end, where there is none, and where it breaks the skill's own contract. */
  readonly output: unknown;
  /** The skill ran and exited with 0, but its output is not what its manifest promises. */
  readonly output_error: { readonly code: 'skill_output_invalid'; readonly message: string } | null;
  readonly exit_code: number | null;
  readonly error_reason: string | null;
  readonly duration_ms: number | null;
  /** The last {@link answeredTailBytes} as text. */
  readonly stdout_tail: string;
  readonly stderr_tail: string;
  readonly stdout_truncated: boolean;
  readonly stderr_truncated: boolean;
  readonly artifacts: readonly ArtifactSummary[];
  readonly artifacts_complete: boolean;
  readonly artifacts_url: string;
  readonly exec_url: string;
  readonly events_url: string;
}

export const answeredTailBytes = 4096;

const text = { type: 'string' } as const;
const reference = { type: 'string', minLength: 1, maxLength: 256 } as const;
const count = { type: 'integer', minimum: 0 } as const;
const hash = { type: 'string', pattern: '^[0-9a-f]{64}$' } as const;

export const invocationRequestSchema = {
  $id: 'urn:secbox:invocation-request',
  type: 'object',
  additionalProperties: false,
  properties: {
    inputs: { type: 'object' },
    project_id: { type: 'string', pattern: namePattern },
    policy_overrides: { type: 'object', maxProperties: 64 },
    task_ref: {
      type: 'object',
      additionalProperties: false,
      properties: { task_id: reference, conversation_id: reference },
    },
  },
} as const;

export const skillListQuerySchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    valid: { type: 'string', enum: ['true', 'false'] },
    q: { type: 'string', minLength: 1, maxLength: 256 },
    cursor: pageCursor,
    limit: pageLimit,
  },
} as const;

const skillProperties = {
  id: text,
  valid: { type: 'boolean' },
  digest: text,
  name: orNull(text),
  description: orNull(text),
  interface: orNull(record({ inputs: { type: 'object' }, outputs: { type: 'object' } })),
  runtime: orNull({ type: 'object' }),
  permissions: orNull({ type: 'object' }),
  limits: orNull({ type: 'object' }),
  problems: listOf(
    record(
      {
        file: text,
        pointer: text,
        line: orNull(count),
        column: orNull(count),
        message: text,
        found: text,
        expected: text,
        suggestion: text,
      },
      ['found', 'expected', 'suggestion'],
    ),
  ),
} as const;

export const skillPageSchema = record({
  skills: listOf(record(skillProperties)),
  next_cursor: orNull(text),
});

export const skillDetailSchema = record({ ...skillProperties, readme: orNull(text), files_url: text });

export const skillFileListingSchema = record({
  id: text,
  digest: text,
  files: listOf(
    record({
      path: text,
      size: count,
      sha256: hash,
      executable: { type: 'boolean' },
      for_program: { type: 'boolean' },
    }),
  ),
});

export const invocationAnswerSchema = record({
  exec_id: { type: 'string', pattern: execIdPattern },
  skill_id: text,
  skill_digest: hash,
  project_id: { type: 'string', pattern: namePattern },
  status: { type: 'string', enum: execStatuses },
  output: {},
  output_error: orNull(record({ code: { type: 'string', enum: ['skill_output_invalid'] }, message: text })),
  exit_code: orNull({ type: 'integer' }),
  error_reason: orNull(text),
  duration_ms: orNull(count),
  stdout_tail: text,
  stderr_tail: text,
  stdout_truncated: { type: 'boolean' },
  stderr_truncated: { type: 'boolean' },
  artifacts: listOf(artifactSummarySchema),
  artifacts_complete: { type: 'boolean' },
  artifacts_url: text,
  exec_url: text,
  events_url: text,
});
