import { sql, SqliteAdapter, type Kysely, type Migration } from 'kysely';

/**
 * Gives each tenant a stretch of its own in the index of commands: what a search costs, and how long it takes, is then
 * nothing of other tenants. What the tenant `default` has stays where it is, in the first; the commands of others are
 * indexed anew.
 */
export const commandPlaces: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('command_places')
      .addColumn('tenant', 'text', (column) => column.primaryKey().notNull())
      .addColumn('place', 'integer', (column) => column.notNull())
      .execute();
    await sql`insert into command_places (tenant, place) values ('default', 0)`.execute(db);
    // The index itself is SQLite's own.
    if (!(db.getExecutor().adapter instanceof SqliteAdapter)) return;
    const others = sql`select seq from sandbox_execs where tenant <> 'default'`;
    await sql`delete from sandbox_exec_commands where rowid in (${others})`.execute(db);
    await sql`insert or ignore into commands_to_index (seq) ${others}`.execute(db);
  },
};
