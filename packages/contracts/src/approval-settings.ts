import { namePattern } from './ids.js';
import { riskLevelNames, type RiskLevelName } from './risk-level.js';

/** For which execs a human has to agree. */
export interface ApprovalRules {
  /** From this level on; null: whatever the level. Absent: as it holds for all tenants. */
  readonly from_level?: RiskLevelName | null;
  /** Every invocation of these. */
  readonly skills?: readonly string[];
}

/** What a tenant has of its own, each in place of what holds for all. */
export interface TenantApprovalSettings extends ApprovalRules {
  /** Null: nobody is told of this tenant's. */
  readonly webhook_url?: string | null;
}

export interface ApprovalSettings extends ApprovalRules {
  /** How long a request waits for its decision; absent: a day. */
  readonly expires_after_seconds?: number;
  /** How many requests of one tenant may wait; absent: 1000. */
  readonly max_pending?: number;
  /** For development: everything is agreed to at once, by nobody, and its row says so. */
  readonly auto_approve?: boolean;
  /** Told of each request and of what became of it. */
  readonly webhook_url?: string;
  readonly tenants?: Readonly<Record<string, TenantApprovalSettings>>;
}

/** Where a tenant's requests, and what became of them, are told; undefined: nowhere. */
export function webhookOf(settings: ApprovalSettings | undefined, tenant: string): string | undefined {
  const tenants = settings?.tenants ?? {};
  const own = Object.hasOwn(tenants, tenant) ? tenants[tenant]?.webhook_url : undefined;
  return (own === undefined ? settings?.webhook_url : own) ?? undefined;
}

const rules = {
  from_level: { enum: [...riskLevelNames, null] },
  skills: {
    type: 'array',
    maxItems: 1000,
    uniqueItems: true,
    items: { type: 'string', minLength: 1, maxLength: 64 },
  },
} as const;

const webhook = { type: 'string', maxLength: 2048, pattern: '^https?://[^\\s@]+$' } as const;

export const approvalSettingsSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ...rules,
    expires_after_seconds: { type: 'integer', minimum: 1, maximum: 2_592_000 },
    max_pending: { type: 'integer', minimum: 1, maximum: 100_000 },
    auto_approve: { type: 'boolean' },
    webhook_url: webhook,
    tenants: {
      type: 'object',
      maxProperties: 10_000,
      propertyNames: { pattern: namePattern },
      additionalProperties: {
        type: 'object',
        additionalProperties: false,
        properties: { ...rules, webhook_url: { anyOf: [webhook, { type: 'null' }] } },
      },
    },
  },
} as const;
