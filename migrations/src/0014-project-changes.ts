import { sql, SqliteAdapter, type Kysely, type Migration } from 'kysely';

/** When files of a project were last changed by calls: that is use of it too, although no exec tells of it. */
export const projectChanges: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const changes = db.schema
      .createTable('project_changes')
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('project_id', 'text', (column) => column.notNull())
      .addColumn('changed_at', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('project_changes_key', ['tenant', 'project_id']);
    const sqlite = db.getExecutor().adapter instanceof SqliteAdapter;
    await (sqlite ? changes.modifyEnd(sql`without rowid`) : changes).execute();
  },
};
