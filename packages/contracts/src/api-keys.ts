import { pageLimit, plainCursor } from './paging.js';
import { namePattern, type KeyId, type TenantId } from './ids.js';
import { roles, type Role } from './roles.js';

/** A key as it is told afterwards: everything but the key itself, of which only a digest is kept. */
export interface ApiKey {
  readonly key_id: KeyId;
  readonly tenant: TenantId;
  readonly roles: readonly Role[];
  readonly label: string | null;
  /** How the key begins, to know it by. */
  readonly prefix: string;
  /** Whom it may act for, `*` standing for any text; null: anyone of the tenant. */
  readonly user_patterns: readonly string[] | null;
  readonly agent_patterns: readonly string[] | null;
  readonly created_at: string;
  /** The key that asked for it, or what made it; null where callers are not told apart. */
  readonly created_by: string | null;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly revoked_by: string | null;
  /** To the minute. */
  readonly last_used_at: string | null;
}

/** What `POST /keys` answers: the only time that the key itself is told. */
export interface NewApiKey extends ApiKey {
  readonly key: string;
}

/** The body of `POST /keys`. */
export interface ApiKeyRequest {
  /** The caller's own unless given; only an administrator of the installation may name another. */
  readonly tenant?: string;
  readonly roles: readonly Role[];
  readonly label?: string;
  readonly expires_at?: string;
  readonly user_patterns?: readonly string[];
  readonly agent_patterns?: readonly string[];
}

export interface ApiKeyPage {
  readonly keys: readonly ApiKey[];
  readonly next_cursor: string | null;
}

export interface ApiKeyListQuery {
  readonly tenant?: string;
  readonly cursor?: string;
  readonly limit?: number;
}

/** As the ids of users and agents, with `*` for any text. */
const subjectPattern = { type: 'string', pattern: '^[A-Za-z0-9._@*-]{1,128}$' } as const;
const patterns = { type: 'array', minItems: 1, maxItems: 32, items: subjectPattern } as const;
const tenant = { type: 'string', pattern: namePattern } as const;

export const apiKeyRequestSchema = {
  $id: 'urn:secbox:api-key-request',
  type: 'object',
  additionalProperties: false,
  required: ['roles'],
  properties: {
    tenant,
    roles: { type: 'array', minItems: 1, uniqueItems: true, items: { type: 'string', enum: roles } },
    label: { type: 'string', pattern: '^[^\\p{Cc}]{1,128}$' },
    expires_at: {
      type: 'string',
      pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?(Z|[+-]\\d{2}:\\d{2})$',
    },
    user_patterns: patterns,
    agent_patterns: patterns,
  },
} as const;

export const apiKeyListQuerySchema = {
  type: 'object',
  additionalProperties: false,
  properties: { tenant, cursor: plainCursor, limit: pageLimit },
} as const;
