import type { ApprovalSummary } from '@secbox/contracts';
import type { ApprovalNews } from './confirmation-service.js';

/** What a webhook is still to be told, as it was written with what it tells of. */
export interface PendingDelivery {
  /** The same at every try: by this, whoever receives knows what it has had. */
  readonly delivery: string;
  readonly type: ApprovalNews['type'];
  /** As it is by now. */
  readonly approval: ApprovalSummary;
  readonly tries: number;
  readonly next_at: string;
}

/** The part of the store that a webhook needs. */
export interface WebhookDeliveries {
  /** Those who are still to be told of something. */
  tenants(): Promise<readonly string[]>;
  /** Oldest first. */
  pending(limit: number, tenant: string): Promise<readonly PendingDelivery[]>;
  postpone(delivery: string, tries: number, nextAt: string): Promise<void>;
  remove(delivery: string): Promise<void>;
  /** How many of what happened before then are given up. */
  dropOlder(before: string): Promise<number>;
}

/** What happened, as it was then: a request may have been decided since. */
export function newsOf({ type, approval }: Pick<PendingDelivery, 'type' | 'approval'>): ApprovalNews {
  if (type === 'approval.settled') return { type, approval };
  const undecided = { decided_by: null, decided_through: null, decided_at: null, decision_reason: null };
  return { type, approval: { ...approval, state: 'pending', ...undecided } };
}
