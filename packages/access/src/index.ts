export type { EventRecords, KeyRecords, KeyWithDigest } from './access-records.js';
export { ApiKeys, type ApiKeysOptions, type Authentication, type RefusedKey } from './api-keys.js';
export { KeyTries, triesPerMinute, type TooManyTries } from './key-tries.js';
export {
  assertAllowed,
  assertMayActFor,
  everyone,
  execScopeOf,
  isInstallationAdmin,
  isLimited,
  mayActFor,
  type Principal,
  type RequiredAccess,
  type Subject,
} from './principal.js';
export { RateLimits, rateWindowSeconds, type RateLimitState } from './rate-limits.js';
export { newEvent, type Doer } from './security-event.js';
export { SecurityLog, type Refusal, type SecurityLogOptions } from './security-log.js';
export { defaultRequestsPerMinute, quotasOf, requestsPerMinute } from './tenant-quotas.js';
