import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { access, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileAppears } from '../exec/file-appears.js';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { apiOf, type Api } from './api.js';

const dayMs = 86_400_000;
let ahead = 0;
let service: RunningService;
let api: Api;
beforeAll(async () => {
  service = await startRunningService({}, undefined, { now: () => new Date(Date.now() + ahead * dayMs) });
  api = apiOf(service);
});
afterAll(() => service.close());
beforeEach(async () => {
  ahead = 0;
  for (const { project_id: id } of (await api.projects()).projects) await api.remove(id, '?cancel=true');
});

const workspace = (...path: string[]) => join(service.dataDir, 'workspace', ...path);
const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
const contentOf = (text: string) => {
  const hash = createHash('sha256').update(text).digest('hex');
  return workspace('contents', hash.slice(0, 2), hash);
};
const nothing = {
  execs: 0,
  projects: 0,
  inputs: 0,
  contents: 0,
  files: 0,
  freed_bytes: 0,
  in_use: 0,
  complete: true,
};

async function later(days: number) {
  ahead = days;
  return api.run();
}

test('without Settings everything stays', async () => {
  await api.retain({});
  const { exec_id: execId } = await service.shell('echo kept', { project_id: 'kept' });
  expect(await later(30_000)).toEqual(nothing);
  expect(await api.exec(execId)).toMatchObject({ stdout: 'kept\n', files_removed_at: null });
});

test('artifacts go when they are old enough, and nothing else does', async () => {
  const project = { project_id: 'artifacts' };
  const { exec_id: execId, artifacts_dir: folder } = await service.shell(
    'echo kept > kept; echo made > /workspace/artifacts/made; echo told',
    { ...project, inputs: [{ path: 'in', content: 'in' }] },
  );
  await api.retain({ artifacts_days: 30 });
  expect(await later(29.9)).toEqual(nothing);
  const run = await later(30.1);
  expect(run).toMatchObject({ projects: 0, inputs: 0, contents: 0, in_use: 0, complete: true });
  expect(run.execs).toBeGreaterThanOrEqual(1);
  expect(run.files).toBeGreaterThanOrEqual(5);
  expect(run.freed_bytes).toBeGreaterThanOrEqual(5 * 512);
  expect(await exists(folder)).toBe(false);
  const row = await api.exec(execId);
  expect(row).toMatchObject({ stdout: '', files_removed_reason: 'retention' });
  expect(row.files_removed_by).toMatch(/^settings:\d+$/);
  expect(Date.parse(row.files_removed_at ?? '')).toBeGreaterThan(Date.now() + 30 * dayMs);
  expect(await api.get(`/sandbox/execs/${execId}/artifacts/made`)).toMatchObject({
    status: 410,
    body: { error: { code: 'artifact_gone', details: { files_removed_reason: 'retention' } } },
  });
  expect(service.log()).toMatch(/"retention\.ran".*"execs":/);
  expect(await later(30.2)).toEqual(nothing);
  ahead = 0;
  expect((await service.shell('cat kept /workspace/inputs/in', project)).stdout).toBe('kept\nin');
});

test('of a project with an exec under way nothing is touched but the artifacts of those that are over', async () => {
  const project = 'running';
  const old = await service.shell('echo old', {
    project_id: project,
    inputs: [{ path: 'a', content: 'a-5' }],
  });
  const running = await api.submit(
    project,
    'touch begun; while [ ! -e go ]; do sleep 0.02; done; cat /workspace/inputs/a',
  );
  await fileAppears(workspace('projects', project, 'work/begun'));
  await api.retain({ artifacts_days: 1, inputs_days: 1, projects_days: 1 });
  const run = await later(400);
  expect(run).toMatchObject({ in_use: 1, execs: 1, projects: 0, inputs: 0 });
  expect(await api.exec(old.exec_id)).toMatchObject({ stdout: '', files_removed_reason: 'retention' });
  expect(await exists(old.artifacts_dir)).toBe(false);
  expect(await exists(workspace('projects', project, 'artifacts', running))).toBe(true);
  expect(await exists(contentOf('a-5'))).toBe(true);
  await writeFile(workspace('projects', project, 'work/go'), '');
  for (;;) {
    const answer = await api.exec(running);
    if (answer.ended_at === null) continue;
    expect(answer).toMatchObject({ status: 'succeeded', stdout: 'a-5' });
    break;
  }
  expect(await later(400)).toMatchObject({ projects: 1, in_use: 0 });
  expect(await exists(workspace('projects', project))).toBe(false);
  expect(await exists(contentOf('a-5'))).toBe(false);
});

test('inputs go when their project was not used for that long, and come back with the next exec that brings them', async () => {
  const project = { project_id: 'inputs' };
  await service.shell('echo work > work', {
    ...project,
    inputs: [
      { path: 'plain', content: 'plain-9' },
      { path: 'secret', content: 'canary-9', secret: true },
    ],
  });
  await api.retain({ inputs_days: 7 });
  expect(await later(6.9)).toEqual(nothing);
  expect(await later(7.1)).toMatchObject({ inputs: 1, projects: 0, execs: 0, contents: 1, files: 2 });
  expect(await exists(contentOf('plain-9'))).toBe(false);
  expect(await later(7.2)).toEqual(nothing);
  ahead = 0;
  const inputs = [{ path: 'again', content: 'plain-9' }];
  const next = await service.shell('cat work; ls /workspace/inputs', { ...project, inputs });
  expect(next.stdout).toBe('work\nagain\n');
  expect(await exists(contentOf('plain-9'))).toBe(true);
});

test('a content that was replaced goes after as many days, one that is in use does not', async () => {
  const project = { project_id: 'replaced' };
  await service.shell('true', { ...project, inputs: [{ path: 'x', content: 'first-3' }] });
  await service.shell('true', { ...project, inputs: [{ path: 'x', content: 'second-3' }] });
  await api.retain({ inputs_days: 7 });
  // Another exec keeps the project in use.
  ahead = 6;
  const running = await api.submit('replaced', 'touch begun; while [ ! -e go ]; do sleep 0.02; done');
  await fileAppears(workspace('projects/replaced/work/begun'));
  const run = await later(7.1);
  expect(run).toMatchObject({ contents: 1, in_use: 1, files: 0 });
  expect(run.freed_bytes).toBeGreaterThanOrEqual(512);
  expect(await exists(contentOf('first-3'))).toBe(false);
  expect(await exists(contentOf('second-3'))).toBe(true);
  await writeFile(workspace('projects/replaced/work/go'), '');
  while ((await api.exec(running)).ended_at === null);
});

test('whole projects go with their work when nobody used them for that long', async () => {
  const project = { project_id: 'unused' };
  const { exec_id: execId } = await service.shell('echo work > work', project);
  await api.retain({ projects_days: 90 });
  expect((await later(89.9)).projects).toBe(0);
  expect((await later(90.1)).projects).toBeGreaterThanOrEqual(1);
  expect(await exists(workspace('projects/unused'))).toBe(false);
  expect(await exists(workspace('disks/unused'))).toBe(false);
  expect(await readdir(workspace('removed'))).toEqual([]);
  expect(await api.exec(execId)).toMatchObject({ files_removed_reason: 'retention' });
  expect((await api.projects('?limit=1000')).projects).toEqual([]);
  ahead = 0;
  expect((await service.shell('ls', project)).stdout).toBe('');
});

test.each([0, -1, 1.5, '30', null, 36_501, Number.MAX_SAFE_INTEGER, [30]])(
  'Settings refuse %p days',
  async (days) => {
    const put = api.retain({ artifacts_days: days as number });
    await expect(put).rejects.toThrow('invalid_request');
  },
);

test('Settings refuse an age of something else', async () => {
  await expect(api.retain({ work_days: 3 } as object)).rejects.toThrow('invalid_request');
});

test('runs that are asked for at once are one', async () => {
  await api.retain({ artifacts_days: 1 });
  for (let n = 0; n < 3; n += 1) await service.shell('true', { project_id: 'at-once' });
  ahead = 50;
  const runs = await Promise.all(Array.from({ length: 4 }, () => api.run()));
  const removed = runs.filter(({ execs }) => execs > 0);
  expect(removed.length).toBeGreaterThanOrEqual(1);
  for (const run of removed) expect(run).toEqual(removed[0]);
  expect((await api.get('/retention/run')).status).toBe(405);
});
