import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fileAppears } from '../exec/file-appears.js';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { loopFilesGone, mountedBelow } from '../disk/host-view.js';
import { putSandboxSettings } from '../disk/put-settings.js';
import { apiOf, type Api } from './api.js';

let service: RunningService;
let api: Api;
beforeAll(async () => {
  service = await startRunningService();
  api = apiOf(service);
  // The whole of each disk is searched below.
  await putSandboxSettings(service.url, { project_work_mb: 32 });
});
afterAll(() => service.close());

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
const held = 'touch begun; while [ ! -e go ]; do sleep 0.02; done';
const begun = (project: string) => fileAppears(workspace('projects', project, 'work/begun'));
const go = (project: string) => writeFile(workspace('projects', project, 'work/go'), '');
const foldersOf = async (project: string) =>
  Promise.all(['projects', 'disks'].map((name) => exists(workspace(name, project))));
const grep = (text: string) =>
  promisify(execFile)('grep', ['-rlaF', text, service.dataDir]).then(
    ({ stdout }) => stdout,
    () => '',
  );

describe('a deleted project', () => {
  test('is gone with its inputs, its work and the files of its execs; its rows stay and say so', async () => {
    const inputs = [
      { path: 'plain.txt', content: 'plain-4471' },
      { path: 'key', content: 'canary-91d2', secret: true },
    ];
    const script = 'echo out; echo made > made; head -c 65536 /dev/urandom > /workspace/artifacts/a';
    const first = await service.shell(script, { project_id: 'whole', inputs });
    const second = await service.shell('false', { project_id: 'whole' });
    expect(await exists(contentOf('plain-4471'))).toBe(true);
    expect(await grep('canary-91d2')).not.toBe('');

    const removed = await api.remove('whole');
    expect(removed).toMatchObject({
      status: 200,
      body: { project_id: 'whole', execs: 2, complete: true, removed_at: expect.any(String) },
    });
    // Two documents and two outputs of each exec, the artifact, the two inputs, and the disk or what was on it.
    expect(removed.body['files']).toBe(4 + 4 + 1 + 2 + 1);
    expect(removed.body['freed_bytes']).toBeGreaterThan(64 * 1024);
    expect(await foldersOf('whole')).toEqual([false, false]);
    expect(mountedBelow(service.dataDir).filter((point) => point.includes('whole'))).toEqual([]);
    await loopFilesGone(workspace('disks/whole'));
    expect(await readdir(workspace('removed'))).toEqual([]);
    expect(await exists(contentOf('plain-4471'))).toBe(false);
    expect(await grep('canary-91d2')).toBe('');
    expect(service.log()).toMatch(/"project.removed"/);

    const tombstone = {
      files_removed_at: removed.body['removed_at'],
      files_removed_reason: 'deleted',
      files_removed_by: null,
    };
    expect(await api.exec(second.exec_id)).toMatchObject({ status: 'failed', ...tombstone });
    const row = await api.exec(first.exec_id);
    expect(row).toMatchObject({ status: 'succeeded', stdout: '', ...tombstone });
    expect(row.artifacts).toMatchObject([{ path: 'a', size: 65_536, url: null }]);
    const at = `/sandbox/execs/${first.exec_id}`;
    for (const path of ['/artifacts/a', '/artifacts.zip', '/stdout', '/stderr', '/inputs/plain.txt']) {
      expect(await api.get(`${at}${path}`)).toMatchObject({
        status: 410,
        body: { error: { code: 'artifact_gone', details: tombstone } },
      });
    }
    expect(await api.get(`${at}/artifacts/never`)).toMatchObject({ status: 404 });
    expect((await api.get(`${at}/artifacts`)).body).toMatchObject({ artifacts: [{ path: 'a', url: null }] });
    expect((await api.get(`${at}/inputs`)).body).toMatchObject({
      inputs: [{ path: 'key', secret: true }, { path: 'plain.txt' }],
    });
    expect(await api.remove('whole')).toMatchObject({
      status: 404,
      body: { error: { code: 'project_not_found' } },
    });
  });

  test('begins anew with its next exec', async () => {
    const project = { project_id: 'anew' };
    await service.shell('echo old > file', { ...project, inputs: [{ path: 'old', content: 'x' }] });
    const before = await service.shell('echo before', project);
    expect((await api.remove('anew')).status).toBe(200);
    expect((await api.projects('?limit=1000')).projects.map((item) => item.project_id)).not.toContain('anew');
    const after = await service.shell('ls -A . /workspace/inputs; echo new > file', project);
    expect(after.stdout).toBe('.:\n\n/workspace/inputs:\n');
    expect((await service.shell('cat file', project)).stdout).toBe('new\n');
    expect(await api.exec(after.exec_id)).toMatchObject({ files_removed_at: null, stdout: after.stdout });
    expect(await api.exec(before.exec_id)).toMatchObject({ files_removed_reason: 'deleted' });
    expect((await api.projects('?cursor=anev')).projects[0]).toMatchObject({ project_id: 'anew', execs: 2 });
  });

  test('takes no content that another has too; the last one does', async () => {
    const shared = [{ path: 'x', content: 'shared-77' }];
    await service.shell('true', { project_id: 'share-a', inputs: shared });
    await service.shell('true', { project_id: 'share-b', inputs: shared });
    // Replaced, so that only its record holds it.
    await service.shell('true', { project_id: 'share-b', inputs: [{ path: 'x', content: 'other-78' }] });
    await api.remove('share-a');
    expect(await readFile(contentOf('shared-77'), 'utf8')).toBe('shared-77');
    await api.remove('share-b');
    expect(await exists(contentOf('shared-77'))).toBe(false);
    expect(await exists(contentOf('other-78'))).toBe(false);
  });

  test('can be what programs made of it: links, locked and deep folders, many files', async () => {
    await service.python(
      `
import os
for top in ('/workspace/work', '/workspace/artifacts'):
    os.chdir(top)
    os.symlink('/', 'root'); os.symlink('${service.dataDir}', 'data'); os.symlink('..', 'up'); os.mkfifo('fifo')
    os.mkdir('locked'); open('locked/file', 'w').close(); os.chmod('locked', 0)
    for n in range(2000): open(str(n), 'w').close()
    for n in range(2500):
        os.mkdir('d'); os.chdir('d')
os.chmod('/workspace/artifacts', 0)
`,
      { project_id: 'hostile' },
    );
    expect(await api.remove('hostile')).toMatchObject({ status: 200, body: { complete: true } });
    expect(await foldersOf('hostile')).toEqual([false, false]);
    expect(await readdir(workspace('removed'))).toEqual([]);
    expect(await exists(join(service.dataDir, 'secbox.db'))).toBe(true);
  });
});

describe('deleting', () => {
  test('a project with a running or waiting exec is refused, and touches nothing', async () => {
    const running = await api.submit('busy', held, [{ path: 'a', content: 'old' }]);
    await begun('busy');
    const waiting = await api.submit('busy', 'cat /workspace/inputs/a', [{ path: 'a', content: 'new' }]);
    expect(await api.remove('busy')).toMatchObject({
      status: 409,
      body: { error: { code: 'project_in_use', details: { execs: 2 } } },
    });
    await go('busy');
    expect(await ended(waiting)).toMatchObject({
      status: 'succeeded',
      stdout: 'new',
      files_removed_at: null,
    });
    expect(await api.exec(running)).toMatchObject({ status: 'succeeded', files_removed_at: null });
    expect(await api.remove('busy')).toMatchObject({ status: 200, body: { execs: 2 } });
  });

  test('with ?cancel=true ends them first', async () => {
    const running = await api.submit('cancelled', held, [{ path: 'a', content: 'old' }]);
    await begun('cancelled');
    const waiting = await api.submit('cancelled', 'true', [{ path: 'a', content: 'new' }]);
    expect(await api.remove('cancelled', '?cancel=true')).toMatchObject({ status: 200, body: { execs: 2 } });
    for (const execId of [running, waiting]) {
      expect(await api.exec(execId)).toMatchObject({
        status: 'cancelled',
        error_reason: 'cancelled because its project is removed',
        files_removed_reason: 'deleted',
      });
    }
    expect(await foldersOf('cancelled')).toEqual([false, false]);
  });

  test('races with submissions: each runs whole in a fresh project or before the deletion, never between', async () => {
    const script =
      'test ! -e mine || echo again; echo mine > mine; cat /workspace/inputs/a mine; cat mine > /workspace/artifacts/kept';
    const execs: Promise<string>[] = [];
    const removals: ReturnType<Api['remove']>[] = [];
    for (let n = 0; n < 8; n += 1) {
      execs.push(api.submit('race', script, [{ path: 'a', content: 'input\n' }]));
      removals.push(api.remove('race'));
      if (n % 3 === 2) await Promise.allSettled([...removals, ...(await Promise.all(execs)).map(ended)]);
    }
    for (const execId of await Promise.all(execs)) {
      const answer = await ended(execId);
      expect(answer).toMatchObject({ status: 'succeeded', exit_code: 0 });
      const whole = (await api.get(`/sandbox/execs/${execId}/artifacts/kept`)).status;
      expect(whole).toBe(answer.files_removed_at === null ? 200 : 410);
      if (answer.files_removed_at === null) expect(answer.stdout).toMatch(/^(again\n)?input\nmine\n$/);
    }
    for (const { status } of await Promise.all(removals)) expect([200, 404, 409]).toContain(status);
  });

  test('twice at once removes once', async () => {
    await service.shell('true', { project_id: 'twice' });
    const statuses = (await Promise.all(Array.from({ length: 5 }, () => api.remove('twice')))).map(
      ({ status }) => status,
    );
    expect(statuses.sort()).toEqual([200, 404, 404, 404, 404]);
  });

  test.each(['..', '.hidden', '-v', 'a:b', 'a'.repeat(129), '%00', 'a%2f..%2fb'])(
    'a project called %s is refused',
    async (name) => {
      const { status } = await api.remove(name === '..' ? '%2e%2e' : name);
      expect([400, 404, 405]).toContain(status);
      expect(await exists(workspace('projects'))).toBe(true);
    },
  );

  test('with a parameter that there is not is refused', async () => {
    expect((await api.remove('x', '?cancel=yes')).status).toBe(400);
    expect((await api.remove('x', '?force=true')).status).toBe(400);
    expect((await api.get('/projects?limit=0')).status).toBe(400);
    expect((await api.get('/projects?cursor=..%2f')).status).toBe(400);
  });
});

test('projects are listed page by page', async () => {
  for (const id of ['list-1', 'list-2', 'list-3']) await service.shell('true', { project_id: id });
  const first = await api.projects('?cursor=list-0&limit=2');
  expect(first).toEqual({
    projects: ['list-1', 'list-2'].map((id) => ({
      project_id: id,
      execs: 1,
      last_used_at: expect.any(String),
    })),
    next_cursor: 'list-2',
  });
  expect((await api.projects(`?cursor=${first.next_cursor ?? ''}&limit=1`)).projects).toMatchObject([
    { project_id: 'list-3' },
  ]);
});

async function ended(execId: string) {
  for (;;) {
    const answer = await api.exec(execId);
    if (answer.ended_at !== null) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
