import type { Kysely, Migration } from 'kysely';

/** The audit table of execs. Times are UTC in ISO 8601, so that text order is time order. */
export const sandboxExecs: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('sandbox_execs')
      .addColumn('exec_id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('project_id', 'text', (column) => column.notNull())
      .addColumn('task_id', 'text')
      .addColumn('conversation_id', 'text')
      .addColumn('skill_id', 'text')
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('image', 'text', (column) => column.notNull())
      .addColumn('image_digest', 'text', (column) => column.notNull())
      .addColumn('cmd', 'text', (column) => column.notNull())
      .addColumn('args', 'text', (column) => column.notNull())
      .addColumn('cwd', 'text', (column) => column.notNull())
      .addColumn('env_keys', 'text', (column) => column.notNull())
      .addColumn('policy_snapshot', 'text', (column) => column.notNull())
      .addColumn('artifacts_path', 'text', (column) => column.notNull())
      .addColumn('idempotency_key', 'text', (column) => column.unique())
      .addColumn('request_hash', 'text', (column) => column.notNull())
      .addColumn('plan_hash', 'text', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('exit_code', 'integer')
      .addColumn('signal', 'text')
      .addColumn('oom', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('error_reason', 'text')
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('started_at', 'text')
      .addColumn('ended_at', 'text')
      .addColumn('duration_ms', 'integer')
      .addColumn('stdout_truncated', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('stderr_truncated', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('artifacts_truncated', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('cpu_ms', 'integer')
      .addColumn('peak_memory_bytes', 'integer')
      .execute();
    await db.schema
      .createIndex('sandbox_execs_by_status')
      .on('sandbox_execs')
      .columns(['status', 'created_at'])
      .execute();
  },
};
