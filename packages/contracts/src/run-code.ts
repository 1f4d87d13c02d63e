import { artifactSummarySchema, listOf, orNull, record } from './answer-schemas.js';
import type { ArtifactSummary } from './exec-answer.js';
import { sandboxTypes, type SandboxType } from './exec-record.js';
import type { TaskRef } from './exec-request.js';
import { execStatuses, type ExecStatus } from './exec-status.js';
import { execIdPattern, namePattern, type ExecId, type ProjectId } from './ids.js';
import { riskReportSchema, type RiskReport } from './risk-level.js';

export const codeLanguages = ['python', 'bash', 'javascript'] as const;
export type CodeLanguage = (typeof codeLanguages)[number];

/** The body of `POST /run_code`, after {@link runCodeRequestSchema} accepted it. */
export interface RunCodeRequest {
  readonly code: string;
  readonly language: CodeLanguage;
  /** In seconds; absent: as the policy has it. */
  readonly timeout?: number;
  /** Without one the code gets a project of its own, of which only the artifacts stay. */
  readonly project_id?: string;
  readonly task_ref?: TaskRef;
}

/** What came of it so far. */
export interface RunCodeAnswer {
  readonly exec_id: ExecId;
  readonly project_id: ProjectId;
  readonly language: CodeLanguage;
  readonly status: ExecStatus;
  /** Whether it is over and exited with 0. */
  readonly success: boolean;
  readonly stdout: string;
  readonly stderr: string;
  readonly exit_code: number | null;
  /** What went wrong, in a sentence; null when nothing did, or it is not over. */
  readonly error: string | null;
  readonly sandbox_type: SandboxType;
  /** Advice: how dangerous the code looks. */
  readonly risk: RiskReport;
  readonly artifacts: readonly ArtifactSummary[];
  readonly artifacts_complete: boolean;
  readonly artifacts_url: string;
  readonly stdout_truncated: boolean;
  readonly stderr_truncated: boolean;
  readonly duration_ms: number | null;
  readonly exec_url: string;
  readonly events_url: string;
}

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const reference = { type: 'string', minLength: 1, maxLength: 256 } as const;

/** It travels as one argument, which the kernel takes no longer of; its end mark included. */
const maxCodeBytes = 131_071;

export const runCodeRequestSchema = {
  $id: 'urn:secbox:run-code-request',
  type: 'object',
  additionalProperties: false,
  required: ['code', 'language'],
  properties: {
    code: { type: 'string', minLength: 1, maxLength: maxCodeBytes - 1 },
    language: { type: 'string', enum: codeLanguages },
    timeout: { type: 'number', minimum: 0.1, maximum: 86_400 },
    project_id: { type: 'string', pattern: namePattern },
    task_ref: {
      type: 'object',
      additionalProperties: false,
      properties: { task_id: reference, conversation_id: reference },
    },
  },
} as const;

export const runCodeAnswerSchema = record({
  exec_id: { type: 'string', pattern: execIdPattern },
  project_id: { type: 'string', pattern: namePattern },
  language: { type: 'string', enum: codeLanguages },
  status: { type: 'string', enum: execStatuses },
  success: flag,
  stdout: text,
  stderr: text,
  exit_code: orNull({ type: 'integer' }),
  error: orNull(text),
  sandbox_type: { type: 'string', enum: sandboxTypes },
  risk: riskReportSchema,
  artifacts: listOf(artifactSummarySchema),
  artifacts_complete: flag,
  artifacts_url: text,
  stdout_truncated: flag,
  stderr_truncated: flag,
  duration_ms: orNull({ type: 'integer', minimum: 0 }),
  exec_url: text,
  events_url: text,
});
