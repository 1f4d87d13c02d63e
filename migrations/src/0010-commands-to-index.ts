import { SqliteAdapter, type Kysely, type Migration } from 'kysely';

/** Execs whose command is not in the index of commands yet, by their `seq`. */
export const commandsToIndex: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const sqlite = db.getExecutor().adapter instanceof SqliteAdapter;
    await db.schema
      .createTable('commands_to_index')
      .addColumn('seq', sqlite ? 'integer' : 'bigint', (column) => column.primaryKey().notNull())
      .execute();
  },
};
