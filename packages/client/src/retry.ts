import { ApiError, type ConnectionError } from './api-error.js';

export interface RetryOptions {
  /** How often a call is made again, at most; 4 by default, 0 never. */
  readonly attempts?: number;
  /** How long to wait before the first time; it doubles, up to `maxDelayMs`. */
  readonly delayMs?: number;
  /** Also of what a server asks for: one that asks for more is not waited for. */
  readonly maxDelayMs?: number;
}

const defaults = { attempts: 4, delayMs: 200, maxDelayMs: 30_000 };
const passing: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** Whether the same call may go well in a moment. */
export function mayWork(failure: ApiError | ConnectionError): boolean {
  return !(failure instanceof ApiError) || passing.has(failure.status);
}

/** Milliseconds before attempt number `attempt` + 1; undefined when there is to be none. */
export function delayBefore(
  attempt: number,
  failure: ApiError | ConnectionError,
  options: RetryOptions,
  random: () => number = Math.random,
): number | undefined {
  const { attempts, delayMs, maxDelayMs } = { ...defaults, ...options };
  if (attempt >= attempts) return undefined;
  const asked = failure instanceof ApiError ? failure.details?.['retry_after_seconds'] : undefined;
  if (typeof asked === 'number') return asked * 1000 <= maxDelayMs ? asked * 1000 : undefined;
  // Not all at the same moment.
  return Math.min(delayMs * 2 ** attempt, maxDelayMs) * (0.5 + random() / 2);
}

export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const leave = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', leave);
      resolve();
    }, ms);
    signal?.addEventListener('abort', leave, { once: true });
  });
}
