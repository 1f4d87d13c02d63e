import { createHash, randomUUID } from 'node:crypto';
import { SecboxError } from './errors.js';

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** Made only by {@link newExecId} and {@link parseExecId}. */
export type ExecId = Branded<'ExecId'>;
/** Made only by {@link parseProjectId}; safe as one path component. */
export type ProjectId = Branded<'ProjectId'>;
/** Made only by {@link parseTenantId}; safe as one path component. */
export type TenantId = Branded<'TenantId'>;
/** Made only by {@link parseUserId}; safe as one path component. */
export type UserId = Branded<'UserId'>;
/** Made only by {@link parseAgentId}; safe as one path component. */
export type AgentId = Branded<'AgentId'>;
/** A skill as a folder of files; made only by {@link parseLayeredSkillId}; safe as one path component. */
export type LayeredSkillId = Branded<'LayeredSkillId'>;

/** Made only by {@link newKeyId} and {@link parseKeyId}. */
export type KeyId = Branded<'KeyId'>;

/** Project, user and agent ids: one path component that is no option, no hidden file and no mount separator. */
export const namePattern = '^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$';
/** 122 random bits, as a version 4 UUID. */
export const execIdPattern = '^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$';

const nameRegExp = new RegExp(namePattern);
const execIdRegExp = new RegExp(execIdPattern);

export function newExecId(): ExecId {
  return randomUUID() as ExecId;
}

export function isExecId(text: string): text is ExecId {
  return execIdRegExp.test(text);
}

export function parseExecId(text: string, field = 'exec_id'): ExecId {
  if (!execIdRegExp.test(text)) {
    throw new SecboxError('invalid_id', `${field} must be a lower-case version 4 UUID.`, {
      details: { field },
    });
  }
  return text as ExecId;
}

export function newKeyId(): KeyId {
  return randomUUID() as KeyId;
}

export function parseKeyId(text: string): KeyId {
  if (!execIdRegExp.test(text)) {
    throw new SecboxError('invalid_id', 'key_id must be a lower-case version 4 UUID.', {
      details: { field: 'key_id' },
    });
  }
  return text as KeyId;
}

export function parseProjectId(text: string, field = 'project_id'): ProjectId {
  return parseName(text, field) as ProjectId;
}

export function parseTenantId(text: string): TenantId {
  return parseName(text, 'tenant') as TenantId;
}

export function parseUserId(text: string): UserId {
  return parseName(text, 'userId') as UserId;
}

export function parseAgentId(text: string): AgentId {
  return parseName(text, 'agentId') as AgentId;
}

const maxSkillIdBytes = 200;

/** People name these folders in their own language; what is the same to the eye is made the same in bytes (NFC). */
export function parseLayeredSkillId(text: string): LayeredSkillId {
  const id = text.normalize('NFC');
  if (
    Buffer.byteLength(id) <= maxSkillIdBytes &&
    /^[\p{L}\p{N}_][\p{L}\p{M}\p{N}._ -]*$/u.test(id) &&
    !id.endsWith(' ')
  ) {
    return id as LayeredSkillId;
  }
  throw new SecboxError(
    'invalid_id',
    `skillId must begin with a letter, digit or underscore and hold only letters, digits, dots, underscores, dashes and inner spaces, at most ${maxSkillIdBytes} bytes of them.`,
    { details: { field: 'skillId' } },
  );
}

const ephemeralPrefix = 'invocation-';

/** The project of one invocation that named none; callers cannot name it. */
export function ephemeralProject(execId: ExecId): ProjectId {
  return `${ephemeralPrefix}${execId}` as ProjectId;
}

export function isEphemeralProject(projectId: string): boolean {
  return projectId.startsWith(ephemeralPrefix) && isExecId(projectId.slice(ephemeralPrefix.length));
}

const layeredPrefix = 'layered-';
const layeredRegExp = /^layered-[0-9a-f]{40}$/;

/** The project under which the execs of one user with one agent are on record; callers cannot name it. */
export function layeredProject(kind: 'skill' | 'sandbox', userId: UserId, agentId: AgentId): ProjectId {
  const names = createHash('sha256').update([kind, userId, agentId].join('\n')).digest('hex');
  return `${layeredPrefix}${names.slice(0, 40)}` as ProjectId;
}

export function isLayeredProject(projectId: string): projectId is ProjectId {
  return layeredRegExp.test(projectId);
}

/** Whose everything is as long as nobody says otherwise. */
export const defaultTenant = parseTenantId('default');

function parseName(text: string, field: string): string {
  if (nameRegExp.test(text)) return text;
  throw new SecboxError(
    'invalid_id',
    `${field} must begin with a letter or digit and have at most 128 letters, digits, dots, underscores, at signs or dashes.`,
    { details: { field, pattern: namePattern } },
  );
}
