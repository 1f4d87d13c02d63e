import { pageLimit, plainCursor } from './paging.js';

/** What is audited beside execs. */
export const securityEventTypes = [
  'key_created',
  'key_revoked',
  'settings_changed',
  'login_refused',
  'access_refused',
  'approval_requested',
  'approval_decided',
  'approval_expired',
  'approval_withdrawn',
  'approval_void',
  'skill_published',
  'skill_withdrawn',
  'skill_uploaded',
  'skill_synced',
  'skill_deleted',
  'skill_restored',
  'file_changed',
] as const;
export type SecurityEventType = (typeof securityEventTypes)[number];

export interface SecurityEvent {
  readonly event_id: string;
  readonly type: SecurityEventType;
  /** Whose it is; null: the installation's. */
  readonly tenant: string | null;
  /** The key that did it, or what did; null where nobody was known. */
  readonly actor: string | null;
  /** Where the request came from. */
  readonly address: string | null;
  /** The key, version, exec or skill that it is about. */
  readonly subject: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly at: string;
  /** Refusals of one minute are one event: how many, and when the last was. */
  readonly count: number;
  readonly last_at: string;
}

export interface SecurityEventPage {
  readonly events: readonly SecurityEvent[];
  readonly next_cursor: string | null;
}

export const eventScopes = ['tenant', 'installation'] as const;

export interface SecurityEventQuery {
  readonly scope?: (typeof eventScopes)[number];
  readonly type?: SecurityEventType;
  readonly cursor?: string;
  readonly limit?: number;
}

export const securityEventQuerySchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    scope: { type: 'string', enum: eventScopes, default: 'tenant' },
    type: { type: 'string', enum: securityEventTypes },
    cursor: plainCursor,
    limit: pageLimit,
  },
} as const;
