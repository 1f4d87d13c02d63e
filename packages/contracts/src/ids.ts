import { randomUUID } from 'node:crypto';
import { SecboxError } from './errors.js';

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** Made only by {@link newExecId} and {@link parseExecId}. */
export type ExecId = Branded<'ExecId'>;
/** Made only by {@link parseProjectId}; safe as one path component. */
export type ProjectId = Branded<'ProjectId'>;
/** Made only by {@link parseTenantId}; safe as one path component. */
export type TenantId = Branded<'TenantId'>;

/** Project, user and agent ids: one path component that is no option, no hidden file and no mount separator. */
export const namePattern = '^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$';
/** 122 random bits, as a version 4 UUID. */
export const execIdPattern = '^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$';

const nameRegExp = new RegExp(namePattern);
const execIdRegExp = new RegExp(execIdPattern);

export function newExecId(): ExecId {
  return randomUUID() as ExecId;
}

export function parseExecId(text: string): ExecId {
  if (!execIdRegExp.test(text)) {
    throw new SecboxError('invalid_id', 'exec_id must be a lower-case version 4 UUID.', {
      details: { field: 'exec_id' },
    });
  }
  return text as ExecId;
}

export function parseProjectId(text: string, field = 'project_id'): ProjectId {
  return parseName(text, field) as ProjectId;
}

export function parseTenantId(text: string): TenantId {
  return parseName(text, 'tenant') as TenantId;
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
