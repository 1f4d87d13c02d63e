import type { Kysely, Migration } from 'kysely';

/**
 * What waited for a human's word, and what that was: one row at most for an exec. `seq` is as in sandbox_execs; `shown`
 * is what approvers see, as JSON.
 */
export const approvals: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('approvals')
      .addColumn('seq', 'bigint', (column) => column.primaryKey().notNull())
      .addColumn('exec_id', 'text', (column) =>
        column.notNull().unique().references('sandbox_execs.exec_id').onDelete('restrict'),
      )
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('project_id', 'text', (column) => column.notNull())
      .addColumn('skill_id', 'text')
      .addColumn('requested_by', 'text')
      .addColumn('requested_at', 'text', (column) => column.notNull())
      .addColumn('expires_at', 'text', (column) => column.notNull())
      .addColumn('needed_because', 'text', (column) => column.notNull())
      .addColumn('risk_level', 'text')
      .addColumn('plan_hash', 'text', (column) => column.notNull())
      .addColumn('shown', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('decided_by', 'text')
      .addColumn('decided_through', 'text')
      .addColumn('decided_at', 'text')
      .addColumn('decision_reason', 'text')
      .execute();
    await db.schema.createIndex('approvals_by_tenant').on('approvals').columns(['tenant', 'seq']).execute();
    await db.schema
      .createIndex('approvals_by_state')
      .on('approvals')
      .columns(['state', 'tenant', 'seq'])
      .execute();
  },
};
