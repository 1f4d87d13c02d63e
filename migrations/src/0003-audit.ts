import { sql, SqliteAdapter, type Kysely, type Migration } from 'kysely';

/**
 * Makes execs findable. The table is made anew around `seq`, the milliseconds of created_at times 1000
 * plus a count: its order is the order of creation, so that each index below needs one column only, and
 * a span of time is a range of the key. Inputs and artifacts get tables of their own.
 */
export const audit: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    // Its FTS5 index is SQLite's own; another database brings its own index of parts of words.
    const sqlite = db.getExecutor().adapter instanceof SqliteAdapter;
    await makeExecs(db, sqlite);
    await makeCompanions(db, sqlite);
    if (sqlite) await indexCommands(db);
  },
};

async function makeExecs(db: Kysely<unknown>, sqlite: boolean): Promise<void> {
  await db.schema.dropIndex('sandbox_execs_by_status').execute();
  await db.schema.alterTable('sandbox_execs').renameTo('sandbox_execs_before').execute();
  await db.schema
    .createTable('sandbox_execs')
    // In PostgreSQL an integer has 32 bits; in SQLite it must be one to be the row's own key.
    .addColumn('seq', sqlite ? 'integer' : 'bigint', (column) => column.primaryKey().notNull())
    .addColumn('exec_id', 'text', (column) => column.notNull().unique())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('actor', 'text')
    .addColumn('project_id', 'text', (column) => column.notNull())
    .addColumn('task_id', 'text')
    .addColumn('conversation_id', 'text')
    .addColumn('skill_id', 'text')
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('sandbox_type', 'text', (column) => column.notNull())
    .addColumn('image', 'text', (column) => column.notNull())
    .addColumn('image_digest', 'text', (column) => column.notNull())
    .addColumn('cmd', 'text', (column) => column.notNull())
    .addColumn('args', 'text', (column) => column.notNull())
    .addColumn('cwd', 'text', (column) => column.notNull())
    .addColumn('env_keys', 'text', (column) => column.notNull())
    .addColumn('policy_snapshot', 'text', (column) => column.notNull())
    .addColumn('artifacts_path', 'text', (column) => column.notNull())
    .addColumn('idempotency_key', 'text')
    .addColumn('request_hash', 'text', (column) => column.notNull())
    .addColumn('plan_hash', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('exit_code', 'integer')
    .addColumn('signal', 'text')
    .addColumn('oom', 'integer', (column) => column.notNull())
    .addColumn('error_reason', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('started_at', 'text')
    .addColumn('queue_ms', 'integer')
    .addColumn('start_mode', 'text')
    .addColumn('ended_at', 'text')
    .addColumn('duration_ms', 'integer')
    .addColumn('stdout_truncated', 'integer', (column) => column.notNull())
    .addColumn('stderr_truncated', 'integer', (column) => column.notNull())
    .addColumn('artifacts_truncated', 'integer', (column) => column.notNull())
    .addColumn('cpu_ms', 'integer')
    .addColumn('peak_memory_bytes', sqlite ? 'integer' : 'bigint')
    .addUniqueConstraint('sandbox_execs_idempotency', ['tenant', 'idempotency_key'])
    .execute();
  // On any other database these migrations run before there are rows.
  if (sqlite) await takeOver(db);
  await db.schema.dropTable('sandbox_execs_before').execute();
  // SQLite ends each entry of an index with the row's key by itself.
  const key = sqlite ? [] : ['seq'];
  for (const columns of indexes) {
    await db.schema
      .createIndex(`sandbox_execs_by_${columns.join('_')}`)
      .on('sandbox_execs')
      .columns(['tenant', ...columns, ...key])
      .execute();
  }
  // Has all that reports count, so that they need not read the rows themselves.
  await db.schema
    .createIndex('sandbox_execs_figures')
    .on('sandbox_execs')
    .columns(['tenant', 'seq', 'status', 'skill_id', 'actor', 'duration_ms'])
    .execute();
}

/** What execs are looked for by; each within its tenant and in the order of creation. */
const indexes = [
  ['task_id'],
  ['conversation_id'],
  ['project_id'],
  ['project_id', 'status'],
  ['skill_id'],
  ['actor'],
  ['status'],
] as const;

async function takeOver(db: Kysely<unknown>): Promise<void> {
  await sql`
    insert into sandbox_execs (seq, exec_id, tenant, project_id, task_id, conversation_id, skill_id, kind,
      sandbox_type, image, image_digest, cmd, args, cwd, env_keys, policy_snapshot, artifacts_path,
      idempotency_key, request_hash, plan_hash, status, exit_code, signal, oom, error_reason, created_at,
      started_at, ended_at, duration_ms, stdout_truncated, stderr_truncated, artifacts_truncated, cpu_ms,
      peak_memory_bytes)
    select
      (cast(strftime('%s', created_at) as integer) * 1000 + cast(substr(created_at, 21, 3) as integer)) * 1000
        + row_number() over (partition by created_at order by exec_id) - 1,
      exec_id, 'default', project_id, task_id, conversation_id, skill_id, kind,
      'docker', image, image_digest, cmd, args, cwd, env_keys, policy_snapshot, artifacts_path,
      idempotency_key, request_hash, plan_hash, status, exit_code, signal, oom, error_reason, created_at,
      started_at, ended_at, duration_ms, stdout_truncated, stderr_truncated, artifacts_truncated, cpu_ms,
      peak_memory_bytes
    from sandbox_execs_before`.execute(db);
}

async function makeCompanions(db: Kysely<unknown>, sqlite: boolean): Promise<void> {
  const inputs = db.schema
    .createTable('sandbox_exec_inputs')
    .addColumn('exec_id', 'text', (column) => column.notNull().references('sandbox_execs.exec_id'))
    .addColumn('ordinal', 'integer', (column) => column.notNull())
    .addColumn('path', 'text', (column) => column.notNull())
    .addColumn('size', sqlite ? 'integer' : 'bigint')
    .addColumn('sha256', 'text')
    .addColumn('secret', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('sandbox_exec_inputs_key', ['exec_id', 'ordinal']);
  const artifacts = db.schema
    .createTable('sandbox_exec_artifacts')
    .addColumn('exec_id', 'text', (column) => column.notNull().references('sandbox_execs.exec_id'))
    .addColumn('ordinal', 'integer', (column) => column.notNull())
    .addColumn('path', 'text', (column) => column.notNull())
    .addColumn('path_base64', 'text')
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('size', sqlite ? 'integer' : 'bigint')
    .addColumn('sha256', 'text')
    .addColumn('media_type', 'text')
    .addColumn('dropped', 'text')
    .addPrimaryKeyConstraint('sandbox_exec_artifacts_key', ['exec_id', 'ordinal']);
  for (const table of [inputs, artifacts]) {
    await (sqlite ? table.modifyEnd(sql`without rowid`) : table).execute();
  }
}

/** Every three characters of a command; the text itself stays in its row only. */
async function indexCommands(db: Kysely<unknown>): Promise<void> {
  await sql`
    create virtual table sandbox_exec_commands
    using fts5(command, content='', contentless_delete=1, tokenize='trigram')`.execute(db);
  await sql`
    insert into sandbox_exec_commands (rowid, command)
    select seq, substr(cmd || ' ' || coalesce((select group_concat(value, ' ' order by key) from json_each(args)), ''), 1, 65536)
    from sandbox_execs`.execute(db);
}
