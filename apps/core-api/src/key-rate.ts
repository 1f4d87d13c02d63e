import {
  RateLimits,
  rateWindowSeconds,
  requestsPerMinute,
  type Principal,
  type RateLimitState,
} from '@secbox/access';
import { SecboxError, type QuotaSettings } from '@secbox/contracts';
import type { Response } from 'express';

/** Counts one more request, or message, of a key; undefined where callers are not told apart. */
export type KeyRate = (caller: Principal) => RateLimitState | undefined;

export function keyRateOf(quotas: () => QuotaSettings | undefined): KeyRate {
  const limits = new RateLimits(() => performance.now());
  return ({ actor, tenant }) =>
    actor === null ? undefined : limits.take(actor, requestsPerMinute(quotas(), tenant));
}

export function tellRate(response: Response, state: RateLimitState): void {
  response.setHeader('ratelimit-limit', state.limit);
  response.setHeader('ratelimit-policy', `${state.limit};w=${rateWindowSeconds}`);
  response.setHeader('ratelimit-remaining', state.remaining);
  response.setHeader('ratelimit-reset', state.resetSeconds);
}

/** Throws when it was one too many. */
export function assertWithinRate(state: RateLimitState | undefined): void {
  if (!state || state.allowed) return;
  throw new SecboxError('too_many_requests', `This key may send ${state.limit} requests a minute.`, {
    details: { limit: state.limit, retry_after_seconds: state.retryAfterSeconds },
  });
}
