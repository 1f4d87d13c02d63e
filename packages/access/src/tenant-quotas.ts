import type { QuotaSettings, TenantQuotas } from '@secbox/contracts';

/** Requests a minute of a key that Settings say nothing else of. */
export const defaultRequestsPerMinute = 6000;

/** What holds for a tenant: its own where it has any, else those of every tenant. */
export function quotasOf(settings: QuotaSettings | undefined, tenant: string): TenantQuotas {
  const { tenants = {}, ...everyone } = settings ?? {};
  return { ...everyone, ...(Object.hasOwn(tenants, tenant) ? tenants[tenant] : {}) };
}

export function requestsPerMinute(settings: QuotaSettings | undefined, tenant: string): number {
  return quotasOf(settings, tenant).requests_per_minute ?? defaultRequestsPerMinute;
}
