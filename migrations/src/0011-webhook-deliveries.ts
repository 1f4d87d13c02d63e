import type { Kysely, Migration } from 'kysely';

/** What a webhook is still to be told: written with what it tells of, gone when it was taken or given up. */
export const webhookDeliveries: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('webhook_deliveries')
      .addColumn('delivery', 'text', (column) => column.primaryKey().notNull())
      .addColumn('exec_id', 'text', (column) =>
        column.notNull().references('approvals.exec_id').onDelete('cascade'),
      )
      .addColumn('type', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('tries', 'integer', (column) => column.notNull())
      .addColumn('next_at', 'text', (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('webhook_deliveries_by_age')
      .on('webhook_deliveries')
      .columns(['created_at', 'delivery'])
      .execute();
  },
};
