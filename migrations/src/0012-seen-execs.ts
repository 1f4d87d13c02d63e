import type { Kysely, Migration } from 'kysely';

/**
 * A key that is limited to users and agents sees their execs only. Whose a row is, is in the index that reports count
 * by: what is passed over is then not read.
 */
export const seenExecs: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.dropIndex('sandbox_execs_figures').execute();
    await db.schema
      .createIndex('sandbox_execs_figures')
      .on('sandbox_execs')
      .columns(['tenant', 'seq', 'status', 'skill_id', 'actor', 'duration_ms', 'user_id', 'agent_id'])
      .execute();
  },
};
