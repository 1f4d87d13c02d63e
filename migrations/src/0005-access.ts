import type { Kysely, Migration } from 'kysely';

/**
 * Who may come in, and what happened at the door. Of a key only its digest is kept. `seq` is as in sandbox_execs:
 * the milliseconds of the moment times 1000, plus a count.
 */
export const access: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('api_keys')
      .addColumn('seq', 'bigint', (column) => column.primaryKey().notNull())
      .addColumn('key_id', 'text', (column) => column.notNull().unique())
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('roles', 'text', (column) => column.notNull())
      .addColumn('label', 'text')
      .addColumn('prefix', 'text', (column) => column.notNull().unique())
      .addColumn('digest', 'text', (column) => column.notNull())
      .addColumn('user_patterns', 'text')
      .addColumn('agent_patterns', 'text')
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('created_by', 'text')
      .addColumn('expires_at', 'text')
      .addColumn('revoked_at', 'text')
      .addColumn('revoked_by', 'text')
      .addColumn('last_used_at', 'text')
      .execute();
    await db.schema.createIndex('api_keys_by_tenant').on('api_keys').columns(['tenant', 'seq']).execute();
    await db.schema
      .createTable('security_events')
      .addColumn('seq', 'bigint', (column) => column.primaryKey().notNull())
      .addColumn('event_id', 'text', (column) => column.notNull().unique())
      .addColumn('type', 'text', (column) => column.notNull())
      .addColumn('tenant', 'text')
      .addColumn('actor', 'text')
      .addColumn('address', 'text')
      .addColumn('subject', 'text')
      .addColumn('details', 'text', (column) => column.notNull())
      .addColumn('at', 'text', (column) => column.notNull())
      .addColumn('count', 'integer', (column) => column.notNull())
      .addColumn('last_at', 'text', (column) => column.notNull())
      .execute();
    for (const columns of [['tenant'], ['tenant', 'type'], ['type']]) {
      await db.schema
        .createIndex(`security_events_by_${columns.join('_')}`)
        .on('security_events')
        .columns([...columns, 'seq'])
        .execute();
    }
  },
};
