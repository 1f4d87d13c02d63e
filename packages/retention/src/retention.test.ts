import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  defaultTenant,
  newExecId,
  noEvidence,
  SecboxError,
  parseProjectId,
  type ExecId,
  type ExecSubmission,
  type PolicySnapshot,
  type RetentionSettings,
} from '@secbox/contracts';
import { openDatabase, type Database } from '@secbox/database';
import { createLogger } from '@secbox/logging';
import { createPathAdapter, Directory, sha256Of, within, Workspace } from '@secbox/workspace';
import { access, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { RetentionRecords } from './retention-records.js';
import { Retention, type RetentionOptions } from './retention.js';

const dayMs = 86_400_000;
const start = Date.UTC(2024, 0, 1);
const project = { tenant: defaultTenant, projectId: parseProjectId('p') };

let folder: string;
let database: Database;
let workspace: Workspace;
let now: Date;
const closers: (() => Promise<void>)[] = [];

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
const openWorkspace = () =>
  Workspace.open({
    paths: createPathAdapter({ mode: 'linux', roots: { workspace_root: join(folder, 'workspace') } }),
  });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-retention-'));
  database = await openDatabase(join(folder, 'secbox.db'));
  workspace = await openWorkspace();
  now = new Date(start);
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  await database.close();
  await rm(folder, { recursive: true });
});

const silent = new Writable({ write: (_chunk, _encoding, done) => done() });

function open(settings: RetentionSettings = {}, more: Partial<RetentionOptions> = {}): Retention {
  const retention = new Retention({
    records: database.retention,
    workspace,
    logger: createLogger({ level: 'error', format: 'json', destination: silent }),
    whileUnused: (_project, work) => work(),
    unmount: () => Promise.resolve(true),
    settings: () => ({ version: 4, retention: settings }),
    now: () => now,
    ...more,
  });
  closers.push(() => retention.close());
  return retention;
}

/** An exec that ran with an input, and left a file. */
async function ran(projectId: string, input: string): Promise<ExecId> {
  const place = { tenant: defaultTenant, projectId: parseProjectId(projectId), execId: newExecId() };
  const folders = workspace.prepare(place);
  const content = Buffer.from(input);
  const file = {
    path: ['input'] as never,
    size: content.length,
    sha256: sha256Of(content),
    secret: false,
    content,
  };
  await database.execs.insert(submissionOf(place, folders.artifacts), [file.sha256]);
  await within(workspace.openSpool(place.execId), (staging) =>
    workspace.inputsOf(place).write([file], staging),
  );
  await writeFile(join(folders.work, 'work'), 'work');
  await mkdir(folders.disk, { recursive: true });
  await writeFile(join(folders.disk, 'disk.img'), 'disk');
  await writeFile(join(folders.artifacts, 'stdout.txt'), 'out');
  await workspace.removeSpool(place.execId);
  const at = new Date(start).toISOString();
  await database.execs.markRunning(place.execId, { started_at: at, queue_ms: 0, start_mode: 'cold' });
  await database.execs.finish(place.execId, {
    status: 'succeeded',
    exit_code: 0,
    signal: null,
    oom: false,
    error_reason: null,
    ended_at: at,
    duration_ms: 1,
    stdout_truncated: false,
    stderr_truncated: false,
    artifacts_truncated: false,
    cpu_ms: null,
    peak_memory_bytes: null,
    output_error: null,
    effects: null,
    evidence: noEvidence,
  });
  return place.execId;
}

function submissionOf(
  {
    tenant,
    projectId,
    execId,
  }: { tenant: string; projectId: ReturnType<typeof parseProjectId>; execId: ExecId },
  artifactsPath: string,
): ExecSubmission {
  return {
    exec_id: execId,
    tenant,
    actor: null,
    project_id: projectId,
    task_id: null,
    conversation_id: null,
    skill_id: null,
    skill_digest: null,
    user_id: null,
    agent_id: null,
    kind: 'shell',
    sandbox_type: 'docker',
    image: 'image',
    image_digest: 'sha256:0',
    cmd: 'bash',
    args: [],
    cwd: '/workspace/work',
    env_keys: [],
    policy_snapshot: {} as PolicySnapshot,
    artifacts_path: artifactsPath,
    idempotency_key: null,
    request_hash: '',
    plan_hash: '',
    created_at: new Date(start).toISOString(),
  };
}

class Killed extends Error {}

/** From the n-th call on, nothing that changes anything is done any more, as when the process is gone. */
function killedAt(n: number) {
  let calls = 0;
  let last = '';
  const changing = /^(entomb|settle|beginRemoval|endRemoval|forget|discard|removeChosen|empty)/;
  const guarded = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name === 'trash') return guarded(value as object);
        if (typeof value !== 'function') return value;
        if (name === 'contentsOf')
          return (...args: unknown[]) => guarded(value.apply(target, args) as object);
        return (...args: unknown[]): unknown => {
          if (changing.test(String(name))) {
            calls += 1;
            if (calls > n) throw new Killed(String(name));
            last = String(name);
          }
          return value.apply(target, args) as unknown;
        };
      },
    });
  return {
    records: guarded<RetentionRecords>(database.retention),
    workspace: guarded(workspace),
    last: () => last,
    wasKilled: () => calls > n,
  };
}

/** What there is of the execs and their projects, in the rows and on the disk. */
async function stateOf(execIds: readonly ExecId[]) {
  const rows = await Promise.all(execIds.map((id) => database.execs.find(id)));
  return {
    removed: rows.map((row) => row?.files_removed_reason ?? null),
    files: await Promise.all(rows.map((row) => exists(row?.artifacts_path ?? ''))),
    inputs: await exists(join(workspace.root, 'projects/p/inputs/input')),
    work: await exists(join(workspace.root, 'projects/p/work/work')),
    disk: await exists(join(workspace.root, 'disks/p')),
    content: workspace.contentsOf(defaultTenant).has(sha256Of(Buffer.from('input'))),
    trash: (await readdir(join(workspace.root, 'removed'))).length,
  };
}

const whole = { inputs: true, work: true, disk: true, content: true, trash: 0 };
const gone = { inputs: false, work: false, disk: false, content: false, trash: 0 };
const moments = Array.from({ length: 14 }, (_, n) => n);

describe('killed at any moment, the next server', () => {
  test.each(moments)('of a deletion (%i steps done) has all of it or nothing', async (n) => {
    const execIds = [await ran('p', 'input'), await ran('p', 'input')];
    const other = await ran('q', 'shared');
    const killed = killedAt(n);
    const first = open({}, killed);
    const outcome = first.removeProject(project, { by: 'me', cancel: false }).catch(() => undefined);
    await Promise.race([outcome, new Promise((resolve) => setTimeout(resolve, 100))]);
    await first.close();
    await outcome;

    workspace = await openWorkspace();
    const next = open();
    await next.resume();
    while (!(await next.run()).complete);
    const all = n === 0;
    expect(await stateOf(execIds)).toEqual({
      removed: execIds.map(() => (all ? null : 'deleted')),
      files: execIds.map(() => all),
      ...(all ? whole : gone),
    });
    expect((await database.execs.find(other))?.files_removed_at).toBeNull();
    expect(await database.retention.unfinishedRemovals()).toEqual([]);
  });

  test.each(moments)('of a sweep for artifacts (%i steps done) ends it', async (n) => {
    const execIds = [await ran('p', 'input'), await ran('p', 'input')];
    now = new Date(start + 2 * dayMs);
    const killed = killedAt(n);
    const first = open({ artifacts_days: 1 }, killed);
    await first.run().catch(() => undefined);
    await first.close();
    expect(killed.wasKilled() || n >= 5).toBe(true);

    workspace = await openWorkspace();
    // Also when nothing is to be removed any more: what was begun is.
    const next = open();
    await next.run();
    const begun = n > 0;
    expect(await stateOf(execIds)).toEqual({
      removed: execIds.map(() => (begun ? 'retention' : null)),
      files: execIds.map(() => !begun),
      ...whole,
    });
    expect(await database.retention.leftovers(10)).toEqual([]);
  });

  test.each(moments)('of a sweep for inputs (%i steps done) has all of them or none', async (n) => {
    const execIds = [await ran('p', 'input')];
    now = new Date(start + 2 * dayMs);
    const first = open({ inputs_days: 1 }, killedAt(n));
    const outcome = first.run().catch(() => undefined);
    await Promise.race([outcome, new Promise((resolve) => setTimeout(resolve, 100))]);
    await first.close();
    await outcome;

    workspace = await openWorkspace();
    const next = open();
    await next.resume();
    while (!(await next.run()).complete);
    const kept = n === 0;
    expect(await stateOf(execIds)).toEqual({
      removed: [null],
      files: [true],
      ...whole,
      inputs: kept,
      content: kept,
    });
  });
});

test('a removal that fails is gone through with, and nobody gets into the project meanwhile', async () => {
  const execIds = [await ran('p', 'input')];
  let failing = true;
  let isOpen = true;
  const records = new Proxy(database.retention, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (name === 'endRemoval' && failing) throw new Error('the database does not answer');
        return value.apply(target, args) as unknown;
      };
    },
  });
  const retention = open(
    {},
    {
      records,
      whileUnused: async (_project, work) => {
        isOpen = false;
        try {
          return await work();
        } finally {
          isOpen = true;
        }
      },
    },
  );
  const removing = retention.removeProject(project, { by: null, cancel: false });
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(isOpen).toBe(false);
  failing = false;
  expect(await removing).toMatchObject({ project_id: 'p', complete: true });
  expect(isOpen).toBe(true);
  expect((await stateOf(execIds)).files).toEqual([false]);
});

describe('a run', () => {
  test('stops when its time is over, and the next goes on', async () => {
    const execIds: ExecId[] = [];
    for (let n = 0; n < 6; n += 1) execIds.push(await ran(`p${n}`, 'input'));
    now = new Date(start + 2 * dayMs);
    const retention = open({ artifacts_days: 1 }, { turnMs: 0 });
    expect(await retention.run()).toMatchObject({ execs: 0, complete: false });
    const patient = open({ artifacts_days: 1 });
    const run = await patient.run();
    expect(run).toMatchObject({ execs: 6, files: 6, complete: true });
  });

  test('leaves files alone that are in a workspace of before', async () => {
    const execId = await ran('p', 'input');
    now = new Date(start + 2 * dayMs);
    const before = workspace;
    workspace = await Workspace.open({
      paths: createPathAdapter({ mode: 'linux', roots: { workspace_root: join(folder, 'moved') } }),
    });
    expect(await open({ artifacts_days: 1 }).run()).toMatchObject({ execs: 0, complete: true });
    expect((await database.execs.find(execId))?.files_removed_at).toBeNull();
    workspace = before;
    expect(await open({ artifacts_days: 1 }).run()).toMatchObject({ execs: 1, files: 1 });
  });

  test('says so when it is asked of a server that stops', async () => {
    const retention = open();
    await retention.close();
    await expect(retention.run()).rejects.toMatchObject({ code: 'shutting_down' });
    await expect(retention.removeProject(project, { by: null, cancel: false })).rejects.toMatchObject({
      code: 'shutting_down',
    });
  });

  test('goes on past what cannot be removed', async () => {
    const execIds = [await ran('p', 'input'), await ran('q', 'input')];
    now = new Date(start + 2 * dayMs);
    const stuck = new Proxy(workspace.trash, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          if (name === 'empty') throw new Error('EIO');
          return value.apply(target, args) as unknown;
        };
      },
    });
    const troubled = new Proxy(workspace, {
      get(target, name) {
        if (name === 'trash') return stuck;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    const run = await open({ artifacts_days: 1 }, { workspace: troubled }).run();
    expect(run).toMatchObject({ execs: 2, files: 0, complete: true });
    expect((await stateOf(execIds)).removed).toEqual(['retention', 'retention']);
    workspace = await openWorkspace();
    expect(await open().run()).toMatchObject({ files: 2 });
  });
});

test('work that something on the host is using keeps its project', async () => {
  const execIds = [await ran('p', 'input')];
  const retention = open({}, { unmount: () => Promise.resolve(false) });
  await expect(retention.removeProject(project, { by: null, cancel: false })).rejects.toMatchObject({
    code: 'project_in_use',
  });
  expect(await stateOf(execIds)).toEqual({ removed: [null], files: [true], ...whole });
});

test('of a project in use only artifacts go, of execs that are over', async () => {
  const execId = await ran('p', 'input');
  now = new Date(start + 2 * dayMs);
  const inUse = () => Promise.reject(new SecboxError('project_in_use', 'an exec runs'));
  const retention = open({ artifacts_days: 1, inputs_days: 1, projects_days: 1 }, { whileUnused: inUse });
  expect(await retention.run()).toMatchObject({
    execs: 1,
    projects: 0,
    inputs: 0,
    in_use: 1,
    complete: true,
  });
  expect(await stateOf([execId])).toEqual({ removed: ['retention'], files: [false], ...whole });
});

test('a change of its files keeps a project as an exec does', async () => {
  const execId = await ran('p', 'input');
  await database.retention.noteChange(project, new Date(start + 2 * dayMs).toISOString());
  const retention = open({ inputs_days: 2, projects_days: 3 });
  now = new Date(start + 3.9 * dayMs);
  expect(await retention.run()).toMatchObject({ projects: 0, inputs: 0 });
  now = new Date(start + 4.1 * dayMs);
  expect(await retention.run()).toMatchObject({ projects: 0, inputs: 1 });
  now = new Date(start + 5.1 * dayMs);
  expect(await retention.run()).toMatchObject({ projects: 1 });
  expect((await stateOf([execId])).work).toBe(false);
});

test('a content stays while somebody writes inputs, and is written anew after it went', async () => {
  await ran('p', 'input');
  const store = workspace.contentsOf(defaultTenant);
  let placing = true;
  const using = store.using(async () => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    placing = false;
  });
  await open().removeProject(project, { by: null, cancel: false });
  expect(placing).toBe(false);
  await using;
  expect(store.has(sha256Of(Buffer.from('input')))).toBe(false);
  await ran('p', 'input');
  expect(store.has(sha256Of(Buffer.from('input')))).toBe(true);
  within(Directory.open(join(workspace.root, 'projects/p/inputs')), (inputs) => inputs.stat('input'));
});
