import { expect, test } from '@jest/globals';
import {
  defaultTenant,
  neverRan,
  newExecId,
  newKeyId,
  parseAgentId,
  parseLayeredSkillId,
  parseProjectId,
  parseUserId,
  type ExecFilter,
  type ExecScope,
  type LimitedScope,
} from '@secbox/contracts';
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
import { eventOf, keyOf } from './access-stores.contract.js';
import { approvalOf, word } from './approval-store.contract.js';
import { ApprovalStore } from './approval-store.js';
import { AuditStore } from './audit-store.js';
import { CommandIndex } from './command-index.js';
import { DeliveryStore } from './delivery-store.js';
import { EventStore } from './event-store.js';
import { finishedOf, start, submissionOf } from './exec-store.contract.js';
import { ExecStore } from './exec-store.js';
import { KeyStore } from './key-store.js';
import type { Ask } from './reading/reader.js';
import { RetentionStore, type ProjectRemovalRecord } from './retention-store.js';
import { SettingsStore } from './settings-store.js';
import { SkillRegistryStore } from './skill-registry-store.js';
import type { Tables } from './tables.js';
import type { Step } from './writer.js';

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
  insertRunning: (store) => store.insertRunning(submissionOf(), start),
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
const limited: LimitedScope = {
  tenant: 'default',
  actor: 'k',
  userPatterns: ['u', 'v*'],
  agentPatterns: ['a'],
};
const list =
  (filter: ExecFilter, scope: ExecScope = 'default') =>
  (store: AuditStore) =>
    store.list(scope, filter, { order: 'desc', limit: 50, after: 1 });
const exported = (format: 'jsonl' | 'csv') => async (store: AuditStore) => {
  await store.export('default', everything, { order: 'asc', format }).next();
};

const exec = { tenant: 'default', execId: newExecId() };

const asking: Readonly<Record<string, (store: AuditStore) => Promise<unknown>>> = {
  list: list({}),
  'list of a task': list({ ...everything, task_id: 't' }),
  'list of a project': list(everything),
  'list of what waits': list({ ...everything, status: 'queued' }),
  'list of a text': list({ ...everything, q: 'text' }),
  'list of a text in a task': list({ q: 'text', task_id: 't' }),
  'list of a limited key': list({ status: 'failed' }, limited),
  'list of a text of a limited key': list({ q: 'text' }, limited),
  find: (store) => store.find('default', newExecId()),
  'find of a limited key': (store) => store.find(limited, newExecId()),
  artifacts: (store) => store.artifacts(exec, { after: 1, limit: 1000 }),
  findArtifact: (store) => store.findArtifact(exec, { path: 'p' }),
  'findArtifact by bytes': (store) => store.findArtifact(exec, { base64: '/w==' }),
  findInput: (store) => store.findInput(exec, 'p'),
  findInputRemoval: (store) => store.findInputRemoval(exec),
  inputs: (store) => store.inputs(exec, { after: 1, limit: 50 }),
  export: exported('jsonl'),
  'export as CSV': exported('csv'),
  stats: (store) => store.stats('default', { status: 'failed' }),
  'stats of a limited key': (store) => store.stats(limited, { status: 'failed' }),
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
  'projects of a limited key': (store) =>
    store.projects({ ...limited, tenant: defaultTenant }, { limit: 50 }),
  lastUse: (store) => store.lastUse(project),
  noteChange: (store) => store.noteChange(project, '2024-01-01', 'sha256'),
  beginRemoval: (store) => store.beginRemoval(project, 'project', tombstone),
  unfinishedRemovals: (store) => store.unfinishedRemovals(),
  endRemoval: (store) => store.endRemoval(removal, '2024-01-01'),
  entombProject: (store) => store.entombProject(removal, { folder: '/', after: 1, limit: 50 }),
  contents: (store) => store.contents(project, 50),
  forgetContents: (store) => store.forgetContents(project, ['sha256']),
};

const keeping: Readonly<Record<string, (store: KeyStore) => Promise<unknown>>> = {
  insert: (store) => store.insert(keyOf(), eventOf('key_created')),
  findByPrefix: (store) => store.findByPrefix('p'),
  find: (store) => store.find(defaultTenant, newKeyId()),
  'find in any tenant': (store) => store.find(undefined, newKeyId()),
  list: (store) => store.list(defaultTenant, { after: 1, limit: 50 }),
  revoke: (store) => store.revoke(newKeyId(), null, '2024-01-01', eventOf('key_revoked')),
  touch: (store) => store.touch(newKeyId(), '2024-01-01'),
};

const happening: Readonly<Record<string, (store: EventStore) => Promise<unknown>>> = {
  insert: (store) => store.insert(eventOf('login_refused')),
  recount: (store) => store.recount('1', 2, '2024-01-01'),
  list: (store) => store.list({ limit: 50 }),
  'list of a tenant': (store) => store.list({ tenant: defaultTenant, after: 1, limit: 50 }),
  'list of a type': (store) => store.list({ type: 'key_created', limit: 50 }),
  'list of a type in a tenant': (store) =>
    store.list({ tenant: defaultTenant, type: 'key_created', after: 1, limit: 50 }),
};

const user = { tenant: defaultTenant, agentId: parseAgentId('a'), userId: parseUserId('u') };
const registered = { ...user, skillId: parseLayeredSkillId('s') };

const registering: Readonly<Record<string, (store: SkillRegistryStore) => Promise<unknown>>> = {
  put: (store) => store.put(registered, { name: 'n', description: 'd' }, new Date('2024-01-01')),
  remove: (store) => store.remove(registered),
  removeUser: (store) => store.removeUser(user),
  list: (store) => store.list(user.tenant, user.agentId, user.userId),
};

const held = submissionOf();
const over = neverRan('rejected', 'denied', new Date('2024-01-01'));

const agreeing: Readonly<Record<string, (store: ApprovalStore) => Promise<unknown>>> = {
  insert: (store) => store.insert(held, ['sha256'], approvalOf(held), eventOf('approval_requested')),
  'insert with news of it': (store) =>
    store.insert(held, [], approvalOf(held), eventOf('approval_requested'), 'delivery'),
  'settle as approved': (store) =>
    store.settle(held.exec_id, word('approved'), 'queued', eventOf('approval_decided')),
  'settle as withdrawn': (store) =>
    store.settle(
      held.exec_id,
      { ...word('denied'), state: 'withdrawn' },
      over,
      eventOf('approval_withdrawn'),
    ),
  makeVoid: (store) => store.makeVoid(held.exec_id, eventOf('approval_void')),
  find: (store) => store.find(defaultTenant, held.exec_id),
  list: (store) => store.list(defaultTenant, { limit: 50 }),
  'list of a state': (store) => store.list(defaultTenant, { state: 'pending', after: 1, limit: 50 }),
  pending: (store) => store.pending(),
  givenInVain: (store) => store.givenInVain(),
};

const delivering: Readonly<Record<string, (store: DeliveryStore) => Promise<unknown>>> = {
  // The row it is answered is none, but the statement has been sent by then.
  pending: (store) => store.pending(50).catch(() => undefined),
  'pending of a tenant': (store) => store.pending(50, 'default').catch(() => undefined),
  tenants: (store) => store.tenants(),
  postpone: (store) => store.postpone('1', 2, '2024-01-01'),
  remove: (store) => store.remove('1'),
  dropOlder: (store) => store.dropOlder('2024-01-01'),
};

const setting: Readonly<Record<string, (store: SettingsStore) => Promise<unknown>>> = {
  current: (store) => store.current(),
  put: (store) => store.put({}, 1, new Date('2024-01-01'), eventOf('settings_changed')),
  history: (store) => store.history(50),
  'history from a version on': (store) => store.history(50, 3),
};

const indexing: Readonly<Record<string, (index: CommandIndex) => Promise<unknown>>> = {
  catchUp: (index) => index.catchUp().finally(() => index.close()),
  close: (index) => index.close(),
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
  const sql = await sqlOf(writing, (statements) => {
    const write = (steps: readonly Step[]) => {
      statements.push(...steps.map(({ query }) => query.sql));
      return Promise.resolve(true);
    };
    return new ExecStore(recordingDatabase(statements), { write });
  });
  await expectCommitted('exec-store.sql', sql);
});

test('every call of the audit store asks the SQL of audit-store.sql (UPDATE_SQL=1 writes it)', async () => {
  expectAllCalled(asking, AuditStore);
  const sql = await sqlOf(asking, (statements) => {
    const ask = ({ query }: { query: { sql: string } }) => {
      statements.push(query.sql);
      return Promise.resolve({ rows: [], cut: false });
    };
    return new AuditStore(recordingDatabase([]), { ask }, { catchUp: () => Promise.resolve() });
  });
  await expectCommitted('audit-store.sql', sql);
});

test('every question of the audit store takes the turn of its tenant, and lists may be refused', async () => {
  const asked = new Map<string, Ask[]>();
  for (const [name, call] of Object.entries(asking)) {
    const ask = (question: Ask) => {
      asked.set(name, [...(asked.get(name) ?? []), question]);
      return Promise.resolve({ rows: [], cut: false });
    };
    await call(new AuditStore(recordingDatabase([]), { ask }, { catchUp: () => Promise.resolve() }));
  }
  for (const { tenant } of [...asked.values()].flat()) expect(tenant).toBe('default');
  const refusable = [...asked].filter(([, [first]]) => first?.refusable === true).map(([name]) => name);
  expect(refusable).toEqual([...asked.keys()].filter((name) => !name.startsWith('find')));
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

test('every call of the key store sends the SQL of key-store.sql (UPDATE_SQL=1 writes it)', async () => {
  expectAllCalled(keeping, KeyStore);
  const sql = await sqlOf(keeping, (statements) => new KeyStore(recordingDatabase(statements, [])));
  await expectCommitted('key-store.sql', sql);
});

test('every call of the event store sends the SQL of event-store.sql (UPDATE_SQL=1 writes it)', async () => {
  expectAllCalled(happening, EventStore);
  const sql = await sqlOf(happening, (statements) => {
    const ask = ({ query }: { query: { sql: string } }) => {
      statements.push(query.sql);
      return Promise.resolve({ rows: [], cut: false });
    };
    return new EventStore(recordingDatabase(statements), { ask });
  });
  await expectCommitted('event-store.sql', sql);
});

test('every call of the skill registry store sends the SQL of skill-registry-store.sql (UPDATE_SQL=1 writes it)', async () => {
  expectAllCalled(registering, SkillRegistryStore);
  const sql = await sqlOf(registering, (statements) => new SkillRegistryStore(recordingDatabase(statements)));
  await expectCommitted('skill-registry-store.sql', sql);
});

test('every call of the approval store sends the SQL of approval-store.sql (UPDATE_SQL=1 writes it)', async () => {
  expectAllCalled(agreeing, ApprovalStore);
  const sql = await sqlOf(agreeing, (statements) => new ApprovalStore(recordingDatabase(statements, [])));
  await expectCommitted('approval-store.sql', sql);
});

test('every call of the delivery store sends the SQL of delivery-store.sql (UPDATE_SQL=1 writes it)', async () => {
  expectAllCalled(delivering, DeliveryStore);
  const sql = await sqlOf(delivering, (statements) => new DeliveryStore(recordingDatabase(statements)));
  await expectCommitted('delivery-store.sql', sql);
});

test('every call of the settings store sends the SQL of settings-store.sql (UPDATE_SQL=1 writes it)', async () => {
  expectAllCalled(setting, SettingsStore);
  const rows = [{ version: 1, document: '{}', created_at: '2024-01-01' }];
  const sql = await sqlOf(setting, (statements) => new SettingsStore(recordingDatabase(statements, rows)));
  await expectCommitted('settings-store.sql', sql);
});

test('the index of commands sends the SQL of command-index.sql (UPDATE_SQL=1 writes it)', async () => {
  expectAllCalled(indexing, CommandIndex);
  const sql = await sqlOf(indexing, (statements) => {
    const waiting = [{ seq: 1, characters: 1 }];
    const write = (steps: readonly Step[]) => {
      statements.push(...steps.map(({ query }) => query.sql.trim()));
      waiting.length = 0;
      return Promise.resolve(true);
    };
    return new CommandIndex(recordingDatabase(statements, waiting), { write });
  });
  await expectCommitted('command-index.sql', sql);
});
