import {
  type SecurityEvent,
  type SecurityEventPage,
  type SecurityEventQuery,
  type SecurityEventType,
} from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import type { EventRecords } from './access-records.js';
import { isInstallationAdmin, otherTenant, type Principal } from './principal.js';
import { newEvent, type Doer } from './security-event.js';

export interface SecurityLogOptions {
  readonly records: EventRecords;
  readonly logger: Logger;
  readonly now: () => Date;
}

/** Something that was refused, which may come in floods. */
export interface Refusal {
  readonly type: Extract<SecurityEventType, 'login_refused' | 'access_refused'>;
  readonly tenant: string | null;
  readonly actor: string | null;
  readonly address: string | null;
  readonly reason: string;
}

/** An event, how often it happened, and how much of that the database knows: nothing before it took it. */
interface Counted {
  readonly event: SecurityEvent;
  count: number;
  told: number;
  lastAt: string;
  written: Promise<void>;
}

const minuteMs = 60_000;
const flushMs = 5000;
/**
 * Of so many askers of a tenant a minute each has an event of its own; all others of it share one, so that a flood
 * fills no disk, and one of a tenant hides nothing of another.
 */
const mostFolded = 32;
/** Events and counts that the database did not take, and that are tried again. */
const mostWaiting = 10_000;
const defaultLimit = 50;

/**
 * What is audited beside execs. Refusals of one asker within a minute are one event with a count: the first is
 * written at once, the count now and then, so that whoever is refused cannot keep the disk busy either.
 */
export class SecurityLog {
  readonly #options: SecurityLogOptions;
  readonly #folded = new Map<string, Counted>();
  readonly #askers = new Map<string | null, number>();
  readonly #waiting = new Set<Counted>();
  #minute = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SecurityLogOptions) {
    this.#options = options;
  }

  /**
   * Records what was done. It is done already, so that this never fails: what the database does not take is in the log,
   * and tried again until it does.
   */
  async happened(
    type: SecurityEventType,
    by: Doer,
    about: Pick<SecurityEvent, 'tenant' | 'subject' | 'details'>,
  ): Promise<void> {
    await this.#write(counted(newEvent(type, by, about, this.#options.now())));
  }

  /** Counts a refusal; never fails, and nobody waits for it. */
  refused(refusal: Refusal): void {
    const now = this.#options.now();
    const minute = Math.floor(now.getTime() / minuteMs);
    if (minute !== this.#minute) {
      void this.flush();
      this.#folded.clear();
      this.#askers.clear();
      this.#minute = minute;
    }
    const { type, tenant, actor, address, reason } = refusal;
    const own = JSON.stringify([type, tenant, actor, address, reason]);
    const askers = this.#askers.get(tenant) ?? 0;
    const full = askers >= mostFolded && !this.#folded.has(own);
    const name = full ? JSON.stringify([type, tenant]) : own;
    const lastAt = now.toISOString();
    const folded = this.#folded.get(name);
    if (folded) {
      folded.count += 1;
      folded.lastAt = lastAt;
      this.#flushLater();
      return;
    }
    const event = full
      ? newEvent(type, nobody, { tenant, subject: null, details: { reason: 'from many addresses' } }, now)
      : newEvent(type, { actor, address }, { tenant, subject: actor, details: { reason } }, now);
    if (!full) this.#askers.set(tenant, askers + 1);
    const first = counted(event);
    this.#folded.set(name, first);
    void this.#write(first);
  }

  /** Writes what is not written yet. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const all = new Set([...this.#waiting, ...this.#folded.values()]);
    await Promise.all([...all].map((each) => this.#write(each)));
  }

  async list(caller: Principal, query: SecurityEventQuery): Promise<SecurityEventPage> {
    const { scope = 'tenant', type, cursor, limit = defaultLimit } = query;
    if (scope === 'installation' && !isInstallationAdmin(caller)) throw otherTenant();
    await this.flush();
    const { items, after } = await this.#options.records.list({
      tenant: scope === 'installation' ? undefined : caller.tenant,
      type,
      after: cursor === undefined ? undefined : Number(cursor),
      limit,
    });
    return { events: items, next_cursor: after === undefined ? null : String(after) };
  }

  #flushLater(): void {
    this.#timer ??= setTimeout(() => void this.flush(), flushMs).unref();
  }

  /** After what is being written of it. What the database does not take is in the log, and tried again. */
  #write(counted: Counted): Promise<void> {
    counted.written = counted.written.then(() => this.#writeNow(counted));
    return counted.written;
  }

  async #writeNow(counted: Counted): Promise<void> {
    const { records, logger } = this.#options;
    const { count, told, lastAt } = counted;
    if (count === told) return;
    const event = { ...counted.event, count, last_at: lastAt };
    try {
      if (told === 0) await records.insert(event);
      else await records.recount(event.event_id, count, lastAt);
      counted.told = count;
      this.#waiting.delete(counted);
    } catch (error) {
      if (!this.#waiting.has(counted)) logger.error('security.event_waits', { event, error });
      if (this.#waiting.size < mostWaiting) this.#waiting.add(counted);
      this.#flushLater();
    }
  }
}

function counted(event: SecurityEvent): Counted {
  return { event, count: 1, told: 0, lastAt: event.last_at, written: Promise.resolve() };
}

const nobody = { actor: null, address: null };
