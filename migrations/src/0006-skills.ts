import type { Kysely, Migration } from 'kysely';

/** Which content of a skill ran, and whether its output was what its manifest promises. */
export const skills: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const column of ['skill_digest', 'output_error']) {
      await db.schema.alterTable('sandbox_execs').addColumn(column, 'text').execute();
    }
  },
};
