import { SecboxError } from '@secbox/contracts';

export interface SessionLimits {
  readonly total: number;
  readonly perOwner: number;
  /** How long one may lie unused, and how long one is kept at all. */
  readonly idleMs: number;
  readonly maxAgeMs: number;
}

export const sessionLimits: SessionLimits = {
  total: 512,
  perOwner: 32,
  idleMs: 30 * 60_000,
  maxAgeMs: 24 * 60 * 60_000,
};

interface Closable {
  close(): Promise<void>;
}

interface Held<Session> {
  readonly session: Session;
  readonly owner: string;
  readonly openedAt: number;
  usedAt: number;
  /** Requests and streams that are open at this moment. */
  uses: number;
}

/**
 * Sessions of clients, few enough and not for ever. Each is its owner's: to everyone else it does not exist. Clients
 * often go without a word, so that an owner's oldest unused one makes room for a new one.
 */
export class Sessions<Session extends Closable> {
  readonly #held = new Map<string, Held<Session>>();
  readonly #limits: SessionLimits;
  readonly #now: () => number;

  constructor(limits: SessionLimits = sessionLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  get size(): number {
    return this.#held.size;
  }

  all(): Session[] {
    return [...this.#held.values()].map(({ session }) => session);
  }

  /** Throws `too_many_sessions` when there is no room and none can be made. */
  add(id: string, owner: string, session: Session): void {
    this.#expire();
    const own = [...this.#held].filter(([, held]) => held.owner === owner);
    if (own.length >= this.#limits.perOwner || this.#held.size >= this.#limits.total) {
      const [unused] = own.filter(([, { uses }]) => uses === 0).sort(([, a], [, b]) => a.usedAt - b.usedAt);
      if (!unused) {
        const { perOwner, total } = this.#limits;
        throw new SecboxError(
          'too_many_sessions',
          `There may be ${perOwner} sessions of one key and ${total} of all, and all of them are in use.`,
          { details: { per_key: perOwner, total } },
        );
      }
      this.remove(unused[0]);
    }
    const now = this.#now();
    this.#held.set(id, { session, owner, openedAt: now, usedAt: now, uses: 0 });
  }

  /** The session for one request, and what says that it is over; throws `session_not_found`. */
  use(id: string, owner: string): { readonly session: Session; readonly done: () => void } {
    this.#expire();
    const held = this.#held.get(id);
    if (held?.owner !== owner) {
      throw new SecboxError('session_not_found', 'There is no such session (any more); begin a new one.');
    }
    held.uses += 1;
    held.usedAt = this.#now();
    return {
      session: held.session,
      done: () => {
        held.uses -= 1;
        held.usedAt = this.#now();
      },
    };
  }

  remove(id: string): void {
    const held = this.#held.get(id);
    if (!this.#held.delete(id)) return;
    held?.session.close().catch(() => undefined);
  }

  async close(): Promise<void> {
    const sessions = this.all();
    this.#held.clear();
    await Promise.allSettled(sessions.map((session) => session.close()));
  }

  /** With every look; what nobody looks at holds but its place. */
  #expire(): void {
    const now = this.#now();
    const { idleMs, maxAgeMs } = this.#limits;
    for (const [id, { uses, usedAt, openedAt }] of this.#held) {
      if ((uses === 0 && now - usedAt > idleMs) || now - openedAt > maxAgeMs) this.remove(id);
    }
  }
}
