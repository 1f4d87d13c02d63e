import { sql, type Kysely, type Migration } from 'kysely';

/** Which skills as files an agent has: of everybody where no user is named, else of that user. */
export const agentSkillRegistry: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('agent_skill_registry')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('agent_id', 'text', (column) => column.notNull())
      .addColumn('skill_id', 'text', (column) => column.notNull())
      .addColumn('user_id', 'text')
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('description', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('updated_at', 'text', (column) => column.notNull())
      .execute();
    // Two absent values are not equal to an index, but no user has an empty id.
    await db.schema
      .createIndex('agent_skill_registry_key')
      .on('agent_skill_registry')
      .unique()
      .expression(sql`tenant, agent_id, coalesce(user_id, ''), skill_id`)
      .execute();
  },
};
