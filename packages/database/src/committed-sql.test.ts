import { expect, test } from '@jest/globals';
import { defaultTenant, newExecId, parseProjectId, type ExecFilter } from '@secbox/contracts';
import {
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type DatabaseConnection,
} from 'kysely';
import { readFile, writeFile } from 'node:fs/promises';
import { env } from 'node:process';
import { AuditStore } from './audit-store.js';
import { finishedOf, start, submissionOf } from './exec-store.contract.js';
import { ExecStore } from './exec-store.js';
import { RetentionStore, type ProjectRemovalRecord } from './retention-store.js';
import type { Tables } from './tables.js';

/** Writes down what it is sent, and answers that one row was reached. */
function recordingDatabase(statements: string[], rows: readonly object[] = [{ seq: 1 }]): Kysely<Tables> {
  const connection: DatabaseConnection = {
    executeQuery: () => Promise.resolve({ rows: [...rows] as never[], numAffectedRows: 1n }),
    streamQuery: () => {
      throw new Error('Nothing here streams.');
    },
  };
  class RecordingDriver extends DummyDriver {
    override acquireConnection = () => Promise.resolve(connection);
  }
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new RecordingDriver(),
      createIntrospector: (kysely) => new SqliteIntrospector(kysely),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
    log: ({ query }) => void statements.push(query.sql),
  });
}

const artifact = { path: 'a', kind: 'file', size: 1, sha256: '', media_type: '', dropped: null } as const;
const evidence = { inputs: [{ path: 'a', secret: true }], artifacts: [artifact] } as const;

const writing: Readonly<Record<string, (store: ExecStore) => Promise<unknown>>> = {
  insert: (store) => store.insert(submissionOf(), ['sha256']),
  markRunning: (store) => store.markRunning(newExecId(), start),
  finish: (store) => store.finish(newExecId(), finishedOf('succeeded', { evidence })),
  // The row it is answered is none, but the statement has been sent by then.
  find: (store) => store.find(newExecId()).catch(() => undefined),
  findByIdempotencyKey: (store) => store.findByIdempotencyKey('default', 'key').catch(() => undefined),
  unfinished: (store) => store.unfinished().catch(() => undefined),
};

const everything: ExecFilter = {
  project_id: 'p',
  skill_id: 's',
  actor: 'a',
  status: 'failed',
  since: '2024-01-01',
  until: '2024-02-01',
};
const list = (filter: ExecFilter) => (store: AuditStore) =>
  store.list('default', filter, { order: 'desc', limit: 50, after: 1 });
const exported = (format: 'jsonl' | 'csv') => async (store: AuditStore) => {
  await store.export('default', everything, { order: 'asc', format }).next();
};

const asking: Readonly<Record<string, (store: AuditStore) => Promise<unknown>>> = {
  list: list({}),
  'list of a task': list({ ...everything, task_id: 't' }),
  'list of a project': list(everything),
  'list of what waits': list({ ...everything, status: 'queued' }),
  'list of a text': list({ ...everything, q: 'text' }),
  'list of a text in a task': list({ q: 'text', task_id: 't' }),
  find: (store) => store.find('default', newExecId()),
  artifacts: (store) => store.artifacts(newExecId(), { after: 1, limit: 50 }),
  findArtifact: (store) => store.findArtifact(newExecId(), { path: 'p' }),
  'findArtifact by bytes': (store) => store.findArtifact(newExecId(), { base64: '/w==' }),
  findInput: (store) => store.findInput(newExecId(), 'p'),
  inputs: (store) => store.inputs(newExecId(), { after: 1, limit: 50 }),
  export: exported('jsonl'),
  'export as CSV': exported('csv'),
  stats: (store) => store.stats('default', { status: 'failed' }),
  'stats of a project': (store) => store.stats('default', everything),
};

const project = { tenant: defaultTenant, projectId: parseProjectId('p') };
const tombstone = { at: '2024-01-01', reason: 'deleted', by: null } as const;
const removal: ProjectRemovalRecord = {
  ...project,
  ...tombstone,
  removalId: '1',
  scope: 'project',
  throughSeq: 1,
};

const removing: Readonly<Record<string, (store: RetentionStore) => Promise<unknown>>> = {
  agedExecs: (store) =>
    store.agedExecs('2024-01-01', { after: { endedAt: '2023-01-01', seq: 1 }, limit: 50 }),
  entombExecs: (store) => store.entombExecs([newExecId()], tombstone),
  leftovers: (store) => store.leftovers(50),
  settle: (store) => store.settle([newExecId()]),
  projects: (store) => store.projects(defaultTenant, { after: 'p', limit: 50 }),
  lastUse: (store) => store.lastUse(project),
  beginRemoval: (store) => store.beginRemoval(project, 'project', tombstone),
  unfinishedRemovals: (store) => store.unfinishedRemovals(),
  endRemoval: (store) => store.endRemoval(removal, '2024-01-01'),
  entombProject: (store) => store.entombProject(removal, { folder: '/', after: 1, limit: 50 }),
  contents: (store) => store.contents(project, 50),
  forgetContents: (store) => store.forgetContents(project, ['sha256']),
};

/** A row that is one of every table. */
const anyRow = {
  seq: 1,
  exec_id: newExecId(),
  tenant: 'default',
  project_id: 'p',
  artifacts_path: '/',
  files_removed_at: null,
};

async function sqlOf<Store>(
  calls: Readonly<Record<string, (store: Store) => Promise<unknown>>>,
  open: (statements: string[], name: string) => Store,
): Promise<string> {
  const parts: string[] = [];
  for (const [name, call] of Object.entries(calls)) {
    const statements: string[] = [];
    await call(open(statements, name));
    parts.push([`-- ${name}`, ...statements.map((sql) => `${sql};`)].join('\n'));
  }
  return `${parts.join('\n\n')}\n`;
}

async function expectCommitted(file: string, sql: string): Promise<void> {
  const committed = new URL(file, import.meta.url);
  if (env['UPDATE_SQL'] === '1') await writeFile(committed, sql);
  expect(sql).toBe(await readFile(committed, 'utf8'));
}

/** Each method has a call, whose name begins with the method's. */
function expectAllCalled(calls: object, { prototype }: { prototype: object }): void {
  const called = new Set(Object.keys(calls).map((name) => name.split(' ')[0]));
  const methods = Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor');
  expect([...called].sort()).toEqual(methods.sort());
}

test('every call of the exec store sends the SQL of exec-store.sql (UPDATE_SQL=1 writes it)', async () => {
  expectAllCalled(writing, ExecStore);
  const sql = await sqlOf(writing, (statements) => new ExecStore(recordingDatabase(statements)));
  await expectCommitted('exec-store.sql', sql);
});

test('every call of the audit store asks the SQL of audit-store.sql (UPDATE_SQL=1 writes it)', async () => {
  expectAllCalled(asking, AuditStore);
  const sql = await sqlOf(asking, (statements) => {
    const ask = ({ query }: { query: { sql: string } }) => {
      statements.push(query.sql);
      return Promise.resolve({ rows: [], cut: false });
    };
    return new AuditStore(recordingDatabase([]), { ask });
  });
  await expectCommitted('audit-store.sql', sql);
});

test('every call of the retention store sends the SQL of retention-store.sql (UPDATE_SQL=1 writes it)', async () => {
  expectAllCalled(removing, RetentionStore);
  const sql = await sqlOf(removing, (statements, name) => {
    const ask = ({ query }: { query: { sql: string } }) => {
      statements.push(query.sql);
      return Promise.resolve({ rows: [], cut: false });
    };
    // A removal begins only where nothing is under way.
    const rows = name === 'beginRemoval' ? [] : [anyRow];
    return new RetentionStore(recordingDatabase(statements, rows), { ask });
  });
  await expectCommitted('retention-store.sql', sql);
});
