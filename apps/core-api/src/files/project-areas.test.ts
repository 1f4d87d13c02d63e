import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  defaultTenant,
  newExecId,
  neverRan,
  parseProjectId,
  type ExecSubmission,
  type ProjectId,
  type RetentionSettings,
} from '@secbox/contracts';
import { openDatabase, type Database } from '@secbox/database';
import { Retention } from '@secbox/retention';
import { SkillLayers } from '@secbox/skill-layers';
import { createPathAdapter, sha256Of, Workspace, within } from '@secbox/workspace';
import { ProjectAreas } from './project-areas.js';

const dayMs = 86_400_000;
const start = Date.UTC(2024, 0, 1);
const key = (projectId: string) => ({ tenant: defaultTenant, projectId: parseProjectId(projectId) });

let folder: string;
let workspace: Workspace;
let database: Database;
let layers: SkillLayers;
let areas: ProjectAreas;
let now: Date;
let closeRetention: (() => Promise<void>)[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-areas-'));
  const paths = createPathAdapter({ mode: 'linux', roots: { workspace_root: join(folder, 'workspace') } });
  workspace = await Workspace.open({ paths });
  database = await openDatabase(join(folder, 'secbox.db'));
  layers = await SkillLayers.open({ root: workspace.productOf(defaultTenant), failed: () => undefined });
  now = new Date(start);
  closeRetention = [];
  areas = new ProjectAreas({
    workspace,
    layers: { of: () => Promise.resolve(layers) },
    runner: { whileKept: (_project, use) => use(), whileUnused: (_project, use) => use() },
    disk: { holdWork: () => Promise.resolve(() => undefined) },
    changes: database.retention,
    now: () => now,
  });
});
afterEach(async () => {
  for (const close of closeRetention) await close();
  await layers.close();
  await database.close();
  await rm(folder, { recursive: true });
});

function retentionOf(settings: RetentionSettings = {}): Retention {
  const quiet = {
    error: () => undefined,
    warn: () => undefined,
    info: () => undefined,
    debug: () => undefined,
  };
  const logger = { ...quiet, child: () => logger };
  const retention = new Retention({
    records: database.retention,
    workspace,
    logger,
    whileUnused: (_project, use) => use(),
    unmount: () => Promise.resolve(true),
    settings: () => ({ version: 1, retention: settings }),
    now: () => now,
  });
  closeRetention.push(() => retention.close());
  return retention;
}

/** An exec that is over, with an input if it brings one. */
async function ran(projectId: ProjectId, input?: string, name = 'input'): Promise<void> {
  const place = { ...key(projectId), execId: newExecId() };
  const { artifacts } = workspace.prepare(place);
  const content = Buffer.from(input ?? '');
  const files =
    input === undefined
      ? []
      : [
          {
            path: [name] as never,
            size: content.length,
            sha256: sha256Of(content),
            secret: false,
            content,
          },
        ];
  const submission = {
    ...{ exec_id: place.execId, tenant: defaultTenant, project_id: projectId, artifacts_path: artifacts },
    ...{ actor: null, task_id: null, conversation_id: null, skill_id: null, skill_digest: null },
    ...{
      user_id: null,
      agent_id: null,
      kind: 'shell',
      sandbox_type: 'docker',
      image: 'i',
      image_digest: 'd',
    },
    ...{ cmd: 'true', args: [], cwd: '/', env_keys: [], policy_snapshot: {}, idempotency_key: null },
    ...{ request_hash: '', plan_hash: '', created_at: new Date(start).toISOString() },
  } as unknown as ExecSubmission;
  await database.execs.insert(
    submission,
    files.map(({ sha256 }) => sha256),
  );
  await within(workspace.openSpool(place.execId), (staging) =>
    workspace.inputsOf(place).write(files, staging),
  );
  await database.execs.finish(place.execId, {
    ...neverRan('cancelled', 'a test', new Date(start)),
    evidence: { inputs: [], artifacts: [] },
  });
}

async function* bytes(text: string) {
  yield await Promise.resolve(Buffer.from(text));
}
const inputsOf = (projectId: string) => areas.of(key(projectId), 'inputs');
const put = async (projectId: string, path: string, text: string) =>
  (await inputsOf(projectId)).write(path, bytes(text), { mostBytes: 1000 });
const isKept = (text: string) => workspace.contentsOf(defaultTenant).has(sha256Of(Buffer.from(text)));
const remove = (projectId: string) =>
  retentionOf().removeProject(key(projectId), { by: null, cancel: false });

test('a content that a project got by a call stays when another project goes that brought it too', async () => {
  await ran(key('a').projectId);
  await ran(key('b').projectId, 'same');
  await put('a', 'given', 'same');
  await remove('b');
  expect(isKept('same')).toBe(true);
  await remove('a');
  expect(isKept('same')).toBe(false);
});

test('a content that only calls brought goes with its project, also one that was replaced since', async () => {
  await ran(key('a').projectId);
  await put('a', 'given', 'first\n');
  await (await inputsOf('a')).edit('given', 'second\n', { start: 1, end: 1 });
  await (await inputsOf('a')).move('given', 'moved', {});
  expect([isKept('first\n'), isKept('second\n')]).toEqual([true, true]);
  await remove('a');
  expect([isKept('first\n'), isKept('second\n')]).toEqual([false, false]);
});

test('inputs that calls wrote are kept from then on, and can be written again after they went', async () => {
  await ran(key('a').projectId);
  const retention = retentionOf({ inputs_days: 2 });
  now = new Date(start + 2 * dayMs);
  await put('a', 'given', 'new');
  now = new Date(start + 3 * dayMs);
  expect(await retention.run()).toMatchObject({ inputs: 0 });
  now = new Date(start + 4.1 * dayMs);
  expect(await retention.run()).toMatchObject({ inputs: 1, contents: 1 });
  expect((await (await inputsOf('a')).list({ limit: 10 })).files).toEqual([]);
  await put('a', 'given', 'again');
  expect(await readFile(join(workspace.root, 'projects/a/inputs/given'), 'utf8')).toBe('again');
});

test('a change of work is use of its project', async () => {
  await ran(key('a').projectId);
  now = new Date(start + 2 * dayMs);
  const work = await areas.of(key('a'), 'work');
  await work.write('made', bytes('x'), { mostBytes: 10 });
  expect(await database.retention.lastUse(key('a'))).toBe(now.toISOString());
});

test('what is written into a project that is not there, or does not fit, is on record for nobody', async () => {
  await expect(put('none', 'given', 'x')).rejects.toMatchObject({ code: 'project_not_found' });
  await ran(key('a').projectId, 'input');
  const inputs = await inputsOf('a');
  const unless = { mostBytes: 10, ifAbsent: true };
  await expect(inputs.write('input', bytes('other'), unless)).rejects.toMatchObject({ code: 'file_changed' });
  expect(await database.retention.contents(key('none'), 10)).toEqual([]);
  expect(await database.retention.contents(key('a'), 10)).toHaveLength(1);
});

test('an input that has the name of what is laid aside in work is there until it is removed itself', async () => {
  const own = '.secbox-change';
  await ran(key('a').projectId, 'kept', own);
  await put('a', 'given', 'x');
  const inputs = await inputsOf('a');
  await inputs.move('given', 'moved', {});
  await inputs.delete('moved', {});
  expect((await inputs.readText(own)).text).toBe('kept');
  expect((await inputs.list({ limit: 10 })).files).toMatchObject([{ path: own }]);
  await inputs.delete(own, {});
  expect((await inputs.list({ limit: 10 })).files).toEqual([]);
});
