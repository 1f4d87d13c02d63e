import type { Kysely, Migration } from 'kysely';

/** Whose layered skill an exec ran in, from which layer on, and what it did to it. */
export const layeredExecs: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const column of ['user_id', 'agent_id', 'skill_version', 'skill_source', 'effects']) {
      await db.schema.alterTable('sandbox_execs').addColumn(column, 'text').execute();
    }
  },
};
