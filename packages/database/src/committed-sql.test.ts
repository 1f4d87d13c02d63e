import { expect, test } from '@jest/globals';
import { newExecId, type ExecFilter } from '@secbox/contracts';
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
import type { Tables } from './tables.js';

/** Writes down what it is sent, and answers that one row was reached. */
function recordingDatabase(statements: string[]): Kysely<Tables> {
  const connection: DatabaseConnection = {
    executeQuery: () => Promise.resolve({ rows: [{ seq: 1 } as never], numAffectedRows: 1n }),
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
  insert: (store) => store.insert(submissionOf()),
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

async function sqlOf<Store>(
  calls: Readonly<Record<string, (store: Store) => Promise<unknown>>>,
  open: (statements: string[]) => Store,
): Promise<string> {
  const parts: string[] = [];
  for (const [name, call] of Object.entries(calls)) {
    const statements: string[] = [];
    await call(open(statements));
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
