/** What a caller is told with each answer, as RateLimit headers. */
export interface RateLimitState {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Until all of it is there again. */
  readonly resetSeconds: number;
  /** Until the next request is answered; 0 when it would be now. */
  readonly retryAfterSeconds: number;
}

interface Bucket {
  tokens: number;
  at: number;
}

export const rateWindowSeconds = 60;
/** More callers than this at once begin anew, with a full bucket, when they come back. */
const keptBuckets = 10_000;

/** So many requests a minute for each caller, which it may send at once; what it used comes back evenly. */
export class RateLimits {
  readonly #buckets = new Map<string, Bucket>();
  readonly #now: () => number;

  /** `now` is in milliseconds and never goes back. */
  constructor(now: () => number) {
    this.#now = now;
  }

  take(caller: string, limit: number): RateLimitState {
    const now = this.#now();
    const perMs = limit / (rateWindowSeconds * 1000);
    const before = this.#buckets.get(caller) ?? { tokens: limit, at: now };
    const tokens = Math.min(limit, before.tokens + (now - before.at) * perMs);
    const allowed = tokens >= 1;
    const left = allowed ? tokens - 1 : tokens;
    this.#keep(caller, { tokens: left, at: now });
    return {
      allowed,
      limit,
      remaining: Math.floor(left),
      resetSeconds: Math.ceil((limit - left) / perMs / 1000),
      retryAfterSeconds: left >= 1 ? 0 : Math.ceil((1 - left) / perMs / 1000),
    };
  }

  /** What was taken last was not meant to count. */
  giveBack(caller: string): void {
    const bucket = this.#buckets.get(caller);
    if (bucket) bucket.tokens += 1;
  }

  #keep(caller: string, bucket: Bucket): void {
    this.#buckets.delete(caller);
    this.#buckets.set(caller, bucket);
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > keptBuckets && oldest !== undefined) this.#buckets.delete(oldest);
  }
}
