import { defaultTenant } from '@secbox/contracts';

/** Whose execs a caller may see. Callers are not told apart yet, so that there is one. */
export function callersTenant(): string {
  return defaultTenant;
}
