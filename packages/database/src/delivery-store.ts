import type { ApprovalSummary } from '@secbox/contracts';
import type { Kysely, Transaction } from 'kysely';
import { fromApprovalRow, summaryColumns } from './approval-row.js';
import type { Tables, WebhookDeliveriesTable } from './tables.js';

/** What a webhook is still to be told. */
export interface PendingDelivery {
  readonly delivery: string;
  readonly type: WebhookDeliveriesTable['type'];
  /** As it is by now, whatever it was when this happened. */
  readonly approval: ApprovalSummary;
  readonly tries: number;
  readonly next_at: string;
}

/** Written in the transaction of what it tells of, so that neither is there without the other. */
export async function insertDelivery(
  transaction: Transaction<Tables>,
  row: Pick<WebhookDeliveriesTable, 'delivery' | 'exec_id' | 'type' | 'created_at'>,
): Promise<void> {
  await transaction
    .insertInto('webhook_deliveries')
    .values({ ...row, tries: 0, next_at: row.created_at })
    .execute();
}

/** Deliveries of webhooks that nobody has taken yet. */
export class DeliveryStore {
  readonly #db: Kysely<Tables>;

  constructor(db: Kysely<Tables>) {
    this.#db = db;
  }

  /** Those who are still to be told of something. */
  async tenants(): Promise<string[]> {
    const rows = await this.#db
      .selectFrom('webhook_deliveries as told')
      .innerJoin('approvals', 'approvals.exec_id', 'told.exec_id')
      .select('approvals.tenant')
      .distinct()
      .orderBy('approvals.tenant')
      .execute();
    return rows.map(({ tenant }) => tenant);
  }

  /** Oldest first, of one tenant or of all. */
  async pending(limit: number, tenant?: string): Promise<readonly PendingDelivery[]> {
    const rows = await this.#db
      .selectFrom('webhook_deliveries as told')
      .innerJoin('approvals', 'approvals.exec_id', 'told.exec_id')
      .select(['told.delivery', 'told.type', 'told.tries', 'told.next_at'])
      .select(summaryColumns.map((column) => `approvals.${column}` as const))
      .$if(tenant !== undefined, (told) => told.where('approvals.tenant', '=', tenant ?? ''))
      .orderBy('told.created_at')
      .orderBy('told.delivery')
      .limit(limit)
      .execute();
    return rows.map(({ delivery, type, tries, next_at, ...approval }) => {
      return { delivery, type, tries, next_at, approval: fromApprovalRow(approval) };
    });
  }

  async postpone(delivery: string, tries: number, nextAt: string): Promise<void> {
    await this.#db
      .updateTable('webhook_deliveries')
      .set({ tries, next_at: nextAt })
      .where('delivery', '=', delivery)
      .execute();
  }

  async remove(delivery: string): Promise<void> {
    await this.#db.deleteFrom('webhook_deliveries').where('delivery', '=', delivery).execute();
  }

  /** How many of what happened before then are given up. */
  async dropOlder(before: string): Promise<number> {
    const { numDeletedRows } = await this.#db
      .deleteFrom('webhook_deliveries')
      .where('created_at', '<', before)
      .executeTakeFirstOrThrow();
    return Number(numDeletedRows);
  }
}
