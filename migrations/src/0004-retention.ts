import { sql, SqliteAdapter, type Kysely, type Migration } from 'kysely';

/**
 * What is left of files that were removed: a tombstone in the row of their exec, the removals of projects, and
 * what a removal that was cut off still has to do. And which projects brought which contents, so that one goes
 * when the last of them does.
 */
export const retention: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const sqlite = db.getExecutor().adapter instanceof SqliteAdapter;
    await makeTombstones(db);
    await makeProjectRemovals(db, sqlite);
    await makeProjectContents(db, sqlite);
  },
};

async function makeTombstones(db: Kysely<unknown>): Promise<void> {
  for (const column of ['files_removed_at', 'files_removed_reason', 'files_removed_by']) {
    await db.schema.alterTable('sandbox_execs').addColumn(column, 'text').execute();
  }
  await db.schema
    .createIndex('sandbox_execs_with_files')
    .on('sandbox_execs')
    .columns(['ended_at', 'seq'])
    .where(sql.ref('files_removed_at'), 'is', null)
    .execute();
  // Execs that have a tombstone, but whose files may still be there.
  await db.schema
    .createTable('sandbox_exec_leftovers')
    .addColumn('exec_id', 'text', (column) =>
      column.primaryKey().notNull().references('sandbox_execs.exec_id'),
    )
    .execute();
}

async function makeProjectRemovals(db: Kysely<unknown>, sqlite: boolean): Promise<void> {
  await db.schema
    .createTable('project_removals')
    .addColumn('removal_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('project_id', 'text', (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('reason', 'text', (column) => column.notNull())
    .addColumn('removed_by', 'text')
    .addColumn('begun_at', 'text', (column) => column.notNull())
    .addColumn('ended_at', 'text')
    // The project's last exec before it: what comes later is another project of the same name.
    .addColumn('through_seq', sqlite ? 'integer' : 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('project_removals_by_project')
    .on('project_removals')
    .columns(['tenant', 'project_id', 'scope', 'through_seq'])
    .execute();
  await db.schema
    .createIndex('project_removals_under_way')
    .on('project_removals')
    .columns(['begun_at'])
    .where(sql.ref('ended_at'), 'is', null)
    .execute();
}

async function makeProjectContents(db: Kysely<unknown>, sqlite: boolean): Promise<void> {
  const contents = db.schema
    .createTable('project_contents')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('sha256', 'text', (column) => column.notNull())
    .addColumn('project_id', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('project_contents_key', ['tenant', 'sha256', 'project_id']);
  await (sqlite ? contents.modifyEnd(sql`without rowid`) : contents).execute();
  await db.schema
    .createIndex('project_contents_by_project')
    .on('project_contents')
    .columns(['tenant', 'project_id', 'sha256'])
    .execute();
  await sql`
    insert into project_contents (tenant, sha256, project_id)
    select distinct sandbox_execs.tenant, sandbox_exec_inputs.sha256, sandbox_execs.project_id
    from sandbox_exec_inputs
    join sandbox_execs on sandbox_execs.exec_id = sandbox_exec_inputs.exec_id
    where sandbox_exec_inputs.sha256 is not null`.execute(db);
}
