import type { Principal } from '@secbox/access';
import { SecboxError } from '@secbox/contracts';

export interface UploadsLimit {
  /** Of one key. */
  readonly ofOne: number;
  readonly ofAll: number;
}

const usualLimit: UploadsLimit = { ofOne: 16, ofAll: 64 };
/** What is no larger fills nothing, and is not counted. */
const smallBytes = 1024 ** 2;
const retryAfterSeconds = 2;

/**
 * How many uploads are received at once, but for small files. What is one too many is turned away before any of it is read: an upload may
 * stand still for long, and one that waits would hold its connection for nothing.
 */
export class UploadsAtOnce {
  readonly #limit: UploadsLimit;
  readonly #ofOne = new Map<string, number>();
  #ofAll = 0;

  constructor(limit: UploadsLimit = usualLimit) {
    this.#limit = limit;
  }

  /** `bytes` is what it says to come to, or may. */
  async run<T>(
    { tenant, actor }: Pick<Principal, 'tenant' | 'actor'>,
    bytes: number,
    receive: () => Promise<T>,
  ): Promise<T> {
    if (bytes <= smallBytes) return receive();
    const who = `${tenant}/${actor ?? ''}`;
    const own = this.#ofOne.get(who) ?? 0;
    if (own >= this.#limit.ofOne) throw tooMany(`This key sends ${own} uploads already.`, this.#limit.ofOne);
    if (this.#ofAll >= this.#limit.ofAll) {
      throw tooMany(`There are ${this.#ofAll} uploads already.`, this.#limit.ofAll);
    }
    this.#ofAll += 1;
    this.#ofOne.set(who, own + 1);
    try {
      return await receive();
    } finally {
      this.#ofAll -= 1;
      const left = (this.#ofOne.get(who) ?? 1) - 1;
      if (left === 0) this.#ofOne.delete(who);
      else this.#ofOne.set(who, left);
    }
  }
}

function tooMany(why: string, most: number): SecboxError {
  return new SecboxError('too_many_uploads', why, {
    details: { most, retry_after_seconds: retryAfterSeconds },
  });
}
