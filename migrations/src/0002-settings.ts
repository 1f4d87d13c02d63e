import type { Kysely, Migration } from 'kysely';

/** Every version of Settings that ever held: a change is a new row, never an edit. */
export const settings: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('settings_versions')
      .addColumn('version', 'integer', (column) => column.primaryKey().notNull())
      .addColumn('document', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .execute();
  },
};
