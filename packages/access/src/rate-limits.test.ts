import { describe, expect, test } from '@jest/globals';
import { RateLimits } from './rate-limits.js';
import { quotasOf, requestsPerMinute } from './tenant-quotas.js';

describe('rate limits', () => {
  test('so many at once, then as they come back', () => {
    let now = 0;
    const limits = new RateLimits(() => now);
    const first = limits.take('a', 60);
    expect(first).toEqual({ allowed: true, limit: 60, remaining: 59, resetSeconds: 1, retryAfterSeconds: 0 });
    for (let n = 1; n < 60; n += 1) expect(limits.take('a', 60).allowed).toBe(true);
    expect(limits.take('a', 60)).toEqual({
      allowed: false,
      limit: 60,
      remaining: 0,
      resetSeconds: 60,
      retryAfterSeconds: 1,
    });
    now = 1000;
    expect(limits.take('a', 60).allowed).toBe(true);
    expect(limits.take('a', 60).allowed).toBe(false);
    now = 120_000;
    expect(limits.take('a', 60).remaining).toBe(59);
  });

  test('callers do not share, and a new limit holds at once', () => {
    const limits = new RateLimits(() => 0);
    for (let n = 0; n < 5; n += 1) limits.take('a', 5);
    expect(limits.take('a', 5).allowed).toBe(false);
    expect(limits.take('b', 5).allowed).toBe(true);
    expect(limits.take('c', 100).allowed).toBe(true);
    expect(limits.take('c', 2)).toMatchObject({ allowed: true, remaining: 1 });
  });

  test('whoever keeps asking is answered at the rate all the same', () => {
    let now = 0;
    const limits = new RateLimits(() => now);
    let answered = 0;
    for (; now < 60_000; now += 10) if (limits.take('a', 60).allowed) answered += 1;
    expect(answered).toBeGreaterThanOrEqual(119);
    expect(answered).toBeLessThanOrEqual(120);
  });

  test('what is kept of callers is bounded', () => {
    const limits = new RateLimits(() => 0);
    expect(limits.take('first', 1).allowed).toBe(true);
    for (let n = 0; n < 10_000; n += 1) limits.take(`caller ${n}`, 1);
    expect(limits.take('first', 1).allowed).toBe(true);
  });
});

test("quotas: a tenant's own come before everyone's", () => {
  const settings = {
    requests_per_minute: 10,
    max_queued_execs: 3,
    tenants: { acme: { requests_per_minute: 20, max_concurrent_execs: 2 } },
  };
  expect(quotasOf(settings, 'acme')).toEqual({
    requests_per_minute: 20,
    max_concurrent_execs: 2,
    max_queued_execs: 3,
  });
  expect(quotasOf(settings, 'constructor')).toEqual({ requests_per_minute: 10, max_queued_execs: 3 });
  expect(requestsPerMinute(undefined, 'acme')).toBe(6000);
});
