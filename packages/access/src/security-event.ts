import type { SecurityEvent, SecurityEventType } from '@secbox/contracts';
import { randomUUID } from 'node:crypto';

/** Who did something, and from where. */
export interface Doer {
  readonly actor: string | null;
  readonly address: string | null;
}

export function newEvent(
  type: SecurityEventType,
  { actor, address }: Doer,
  about: Pick<SecurityEvent, 'tenant' | 'subject' | 'details'>,
  now: Date,
): SecurityEvent {
  const at = now.toISOString();
  return { event_id: randomUUID(), type, actor, address, ...about, at, count: 1, last_at: at };
}
