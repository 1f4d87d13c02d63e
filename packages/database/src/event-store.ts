import type { SecurityEvent, SecurityEventType, TenantId } from '@secbox/contracts';
import type { Kysely, Selectable } from 'kysely';
import { fromEventRow, insertEvent } from './event-row.js';
import type { Reader } from './reading/reader.js';
import type { SecurityEventsTable, Tables } from './tables.js';

export interface EventSelection {
  /** Of all tenants, and of none, when absent. */
  readonly tenant?: TenantId | undefined;
  readonly type?: SecurityEventType | undefined;
  readonly after?: number | undefined;
  readonly limit: number;
}

/** What happened beside execs, newest first. Nothing is ever removed; refusals of one minute are one row. */
export class EventStore {
  readonly #db: Kysely<Tables>;
  readonly #reader: Reader;

  constructor(db: Kysely<Tables>, reader: Reader) {
    this.#db = db;
    this.#reader = reader;
  }

  async insert(event: SecurityEvent): Promise<void> {
    await insertEvent(this.#db, event);
  }

  /** How often it has happened by now. */
  async recount(eventId: string, count: number, lastAt: string): Promise<void> {
    await this.#db
      .updateTable('security_events')
      .set({ count, last_at: lastAt })
      .where('event_id', '=', eventId)
      .execute();
  }

  async list({ tenant, type, after, limit }: EventSelection): Promise<{
    readonly items: readonly SecurityEvent[];
    readonly after: number | undefined;
  }> {
    const query = this.#db
      .selectFrom('security_events')
      .selectAll()
      .$if(tenant !== undefined, (events) => events.where('tenant', '=', tenant ?? ''))
      .$if(type !== undefined, (events) => events.where('type', '=', type ?? 'login_refused'))
      .$if(after !== undefined, (events) => events.where('seq', '<', after ?? 0))
      .orderBy('seq', 'desc')
      .limit(limit + 1)
      .compile();
    const { rows, cut } = await this.#reader.ask({ query, ...(tenant === undefined ? {} : { tenant }) });
    const page = (rows as unknown as Selectable<SecurityEventsTable>[]).slice(0, limit);
    const more = cut || rows.length > limit;
    return { items: page.map(fromEventRow), after: more ? page.at(-1)?.seq : undefined };
  }
}
