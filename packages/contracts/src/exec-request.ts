import { namePattern } from './ids.js';

/** The body of `POST /sandbox/execs`, after {@link execRequestSchema} accepted it. */
export interface ExecRequest {
  readonly project_id?: string;
  readonly conversation_id?: string;
  /** Under whose rules the command runs. */
  readonly skill_id?: string;
  readonly exec: ExecCommand;
  readonly inputs?: readonly ExecInput[];
  /** Checked by the policy package, which knows the ceilings and can say who set them. */
  readonly policy_overrides?: Readonly<Record<string, unknown>>;
  readonly task_ref?: TaskRef;
}

export interface ExecCommand {
  readonly kind: ExecKind;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
}

/** A program with its arguments as they are: no caller's word, but a skill's. */
export interface ArgvCommand extends Omit<ExecCommand, 'kind'> {
  readonly kind: 'argv';
}

export type ExecKind = 'shell' | 'python';

export interface ExecInput {
  readonly path: string;
  readonly content?: string;
  readonly content_base64?: string;
  readonly secret?: boolean;
}

export interface TaskRef {
  readonly task_id?: string;
  readonly conversation_id?: string;
}

/** The kernel takes no single argument longer than this, its end mark included. */
const maxArgumentBytes = 131_071;
const reference = { type: 'string', minLength: 1, maxLength: 256 } as const;
const name = { type: 'string', pattern: namePattern } as const;

export const execRequestSchema = {
  $id: 'urn:secbox:exec-request',
  type: 'object',
  additionalProperties: false,
  required: ['exec'],
  properties: {
    project_id: name,
    conversation_id: name,
    skill_id: name,
    exec: {
      type: 'object',
      additionalProperties: false,
      required: ['kind', 'command', 'args'],
      properties: {
        kind: { enum: ['shell', 'python'] },
        command: { type: 'string' },
        args: {
          type: 'array',
          minItems: 1,
          maxItems: 1024,
          items: { type: 'string', maxLength: maxArgumentBytes },
        },
        cwd: { type: 'string', maxLength: 4096 },
        env: {
          type: 'object',
          maxProperties: 256,
          additionalProperties: { type: 'string', maxLength: maxArgumentBytes },
        },
        stdin: { type: 'string' },
      },
    },
    inputs: {
      type: 'array',
      maxItems: 1000,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['path'],
        oneOf: [{ required: ['content'] }, { required: ['content_base64'] }],
        properties: {
          path: { type: 'string', minLength: 1, maxLength: 4096 },
          content: { type: 'string' },
          content_base64: { type: 'string' },
          secret: { type: 'boolean' },
        },
      },
    },
    policy_overrides: { type: 'object', maxProperties: 64 },
    task_ref: {
      type: 'object',
      additionalProperties: false,
      properties: { task_id: reference, conversation_id: reference },
    },
  },
} as const;
