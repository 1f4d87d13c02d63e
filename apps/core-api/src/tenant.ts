import { defaultTenant, type TenantId } from '@secbox/contracts';

/** Whose execs a caller may see. Callers are not told apart yet, so that there is one. */
export function callersTenant(): TenantId {
  return defaultTenant;
}
