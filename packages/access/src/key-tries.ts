import { isIPv4, isIPv6 } from 'node:net';
import type { ApiKeys, Authentication } from './api-keys.js';
import { readKeyToken } from './api-key-token.js';
import { RateLimits } from './rate-limits.js';

/** So many requests a minute may come from one network without a key that holds. */
export const triesPerMinute = 60;
/** More keys than this at once count as tries again when they come back. */
const keptKeys = 10_000;

export interface TooManyTries {
  readonly retryAfterSeconds: number;
}

/**
 * Looks keys up, for whoever has not tried too many. A key that has held since the server started is not counted: whoever tries
 * keys behind the address of others keeps none of them out.
 */
export class KeyTries {
  readonly #keys: Pick<ApiKeys, 'authenticate'>;
  readonly #limits: RateLimits;
  /** Digests of keys that held when they were last used. */
  readonly #held = new Set<string>();

  /** `now` is in milliseconds and never goes back. */
  constructor(keys: Pick<ApiKeys, 'authenticate'>, now: () => number) {
    this.#keys = keys;
    this.#limits = new RateLimits(now);
  }

  async authenticate(
    text: string | undefined,
    address: string | null,
  ): Promise<Authentication | TooManyTries> {
    const network = networkOf(address);
    const digest = text === undefined ? undefined : readKeyToken(text)?.digest;
    const counted = digest === undefined || !this.#held.has(digest);
    // Before it is looked up, so that many at once are no way around it.
    const early = counted ? this.#take(network) : undefined;
    if (early) return early;
    const found = await this.#keys.authenticate(text);
    if ('principal' in found) {
      if (counted && digest !== undefined) this.#remember(digest);
      if (counted) this.#limits.giveBack(network);
      return found;
    }
    if (counted) return found;
    this.#held.delete(digest);
    return this.#take(network) ?? found;
  }

  #take(network: string): TooManyTries | undefined {
    const { allowed, retryAfterSeconds } = this.#limits.take(network, triesPerMinute);
    return allowed ? undefined : { retryAfterSeconds };
  }

  #remember(digest: string): void {
    this.#held.add(digest);
    const [oldest] = this.#held;
    if (this.#held.size > keptKeys && oldest !== undefined) this.#held.delete(oldest);
  }
}

/** Who has one IPv6 address has all that begin with the same 64 bits. */
export function networkOf(address: string | null): string {
  const [plain = ''] = (address ?? '').split('%');
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1];
  if (mapped !== undefined || isIPv4(plain)) return mapped ?? plain;
  if (!isIPv6(plain)) return 'unknown';
  const [head = '', tail] = plain.split('::');
  const groups = (text: string) => text.split(':').filter(Boolean);
  const [first, last] = [groups(head), groups(tail ?? '')];
  const between = Array.from({ length: tail === undefined ? 0 : 8 - first.length - last.length }, () => '0');
  const all = [...first, ...between, ...last].slice(0, 4);
  return all.map((group) => Number.parseInt(group, 16).toString(16)).join(':');
}
