import type { SecurityEvent } from '@secbox/contracts';
import type { Kysely, Selectable } from 'kysely';
import { nextSeq } from './seq.js';
import type { SecurityEventsTable, Tables } from './tables.js';

/** In whichever transaction does what the event says. */
export async function insertEvent(db: Kysely<Tables>, { details, ...event }: SecurityEvent): Promise<void> {
  await db
    .insertInto('security_events')
    .values({ seq: nextSeq(event.at, 'security_events'), ...event, details: JSON.stringify(details) })
    .execute();
}

export function fromEventRow({ seq: _, details, ...row }: Selectable<SecurityEventsTable>): SecurityEvent {
  return { ...row, details: JSON.parse(details) as Record<string, unknown> };
}
