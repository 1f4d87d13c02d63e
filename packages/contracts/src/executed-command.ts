import { execStatuses, type ExecStatus } from './exec-status.js';
import type { ExecId } from './ids.js';
import type { LayerEffects } from './layer-effects.js';
import type { SkillSource } from './exec-record.js';

/** The query of the v1 API's `execute`; its body is the list of arguments. */
export interface ExecuteQuery {
  readonly command: string;
  readonly wait?: 'true' | 'false';
}

export const executeQuerySchema = {
  type: 'object',
  additionalProperties: false,
  required: ['command'],
  properties: {
    command: { type: 'string', maxLength: 256 },
    wait: { type: 'string', enum: ['true', 'false'] },
  },
} as const;

export const executeArgumentsSchema = { type: 'array', items: { type: 'string' } } as const;

/** What `execute` answers as its data; what is not known yet, or never will be, is null. */
export interface ExecutedCommand {
  readonly stdout: string;
  readonly stderror: string;
  readonly exit_code: number | null;
  readonly exec_id: ExecId;
  readonly status: ExecStatus;
  readonly error_reason: string | null;
  readonly duration_ms: number | null;
  readonly stdout_truncated: boolean;
  readonly stderr_truncated: boolean;
  readonly skill_version: string | null;
  readonly skill_source: SkillSource | null;
  readonly effects: LayerEffects | null;
}

const text = { type: 'string' } as const;
const orNull = (schema: object) => ({ anyOf: [schema, { type: 'null' }] });

const executedCommandProperties = {
  stdout: text,
  stderror: text,
  exit_code: orNull({ type: 'integer' }),
  exec_id: text,
  status: { type: 'string', enum: execStatuses },
  error_reason: orNull(text),
  duration_ms: orNull({ type: 'integer', minimum: 0 }),
  stdout_truncated: { type: 'boolean' },
  stderr_truncated: { type: 'boolean' },
  skill_version: orNull(text),
  skill_source: orNull(text),
  effects: orNull({ $ref: '#/components/schemas/LayerEffects' }),
} as const;

export const executedCommandSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['status', 'data'],
  properties: {
    status: { type: 'string', enum: ['success'] },
    data: {
      type: 'object',
      additionalProperties: false,
      required: Object.keys(executedCommandProperties),
      properties: executedCommandProperties,
    },
  },
} as const;
