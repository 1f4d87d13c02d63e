import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { join } from 'node:path';
import request from 'supertest';
import { startRunningService, type RunningService } from './running-service.js';

let service: RunningService;
beforeEach(async () => {
  service = await startRunningService();
});
afterEach(() => service.close());

const get = (path: string) => request(service.url).get(path);
const put = (body: unknown, replaces?: string) => {
  const sent = request(service.url).put('/settings');
  return (replaces === undefined ? sent : sent.set('if-match', replaces)).send(body as object);
};
const memory = (mb: number) => ({ policy: { ceilings: { memory_mb: mb } } });

interface ErrorBody {
  readonly error: { readonly code: string; readonly details: Record<string, unknown> };
}

describe('Settings', () => {
  test('begin empty, at version 0', async () => {
    const response = await get('/settings');
    expect(response.body).toEqual({ version: 0, settings: {}, created_at: null });
    expect(response.headers['etag']).toBe('"0"');
  });

  test('are replaced version by version, and every version stays', async () => {
    const first = await put(memory(512), '"0"');
    expect([first.status, first.headers['etag']]).toEqual([200, '"1"']);
    const sandbox = { max_concurrent_execs: 2, python_ahead: false };
    const second = await put({ sandbox }, '"1"');
    expect(second.body).toMatchObject({ version: 2, settings: { sandbox } });
    expect((await get('/settings')).body).toEqual(second.body);
    expect((await get('/settings/history')).body).toEqual({
      versions: [second.body, first.body],
      next_before: null,
    });
    const page = await get('/settings/history?limit=1');
    expect(page.body).toEqual({ versions: [second.body], next_before: 2 });
    expect((await get('/settings/history?limit=1&before=2')).body).toEqual({
      versions: [first.body],
      next_before: null,
    });
  });

  test('survive a restart', async () => {
    const stored = await put(memory(512), '"0"');
    await service.stop();
    service = await startRunningService({}, service.dataDir);
    expect((await get('/settings')).body).toEqual(stored.body);
  });

  test('of twenty changes at once one wins, and the others are told (case 9)', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => put(memory(100 + n), '"0"')));
    const won = answers.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(19);
    expect((await get('/settings')).body).toEqual(won[0]?.body);
  });

  test('a change must say what it replaces', async () => {
    expect((await put(memory(512))).status).toBe(428);
    expect((await put(memory(512), '*')).status).toBe(400);
    const stale = await put(memory(512), '"7"');
    expect([stale.status, (stale.body as ErrorBody).error.details]).toEqual([412, { version: 0 }]);
  });

  test.each<[string, unknown, number, string]>([
    ['past a hard ceiling', memory(9000), 403, 'policy_exceeded'],
    [
      'a value past its own ceiling',
      { policy: { values: { pids: 99 }, ceilings: { pids: 50 } } },
      403,
      'policy_exceeded',
    ],
    ['another network', { policy: { values: { net: { mode: 'host' } } } }, 403, 'policy_exceeded'],
    ['a wrong type', { policy: { values: { pids: '9' } } }, 400, 'invalid_policy'],
    ['an unknown limit', { policy: { values: { gpus: 1 } } }, 400, 'invalid_policy'],
    ['an unknown key', { sandbox: { privileged: true } }, 400, 'invalid_request'],
    ['no places', { sandbox: { max_concurrent_execs: 0 } }, 400, 'invalid_request'],
    ['a disk too small to be one', { sandbox: { project_work_mb: 31 } }, 400, 'invalid_request'],
    ['no floor', { sandbox: { min_free_mb: 0 } }, 400, 'invalid_request'],
    ['a disk of half a megabyte', { sandbox: { project_work_mb: 64.5 } }, 400, 'invalid_request'],
    ['a python half ahead', { sandbox: { python_ahead: 'yes' } }, 400, 'invalid_request'],
    ['not an object', [], 400, 'invalid_request'],
    ['a root that cannot be made', { sandbox: { workspace_root: '/proc/nope/x' } }, 400, 'invalid_setting'],
    ['a relative root', { sandbox: { workspace_root: 'relative/../x' } }, 400, 'invalid_setting'],
  ])('%s is refused, and nothing is stored', async (_name, body, status, code) => {
    const response = await put(body, '"0"');
    expect([response.status, (response.body as ErrorBody).error.code]).toEqual([status, code]);
    expect((await get('/settings')).body).toMatchObject({ version: 0 });
  });

  test.each(['limit=0', 'limit=101', 'limit=x', 'before=-1', 'limit=1&limit=2'])(
    'history?%s is refused',
    async (query) => {
      expect((await get(`/settings/history?${query}`)).status).toBe(400);
    },
  );

  test('are the ceiling of every request, and named when it is met', async () => {
    await put({ policy: { values: { timeout_ms: 5000 }, ceilings: { memory_mb: 256 } } }, '"0"');
    const exec = { kind: 'shell', command: 'bash', args: ['-lc', 'true'] };
    const refused = await request(service.url)
      .post('/sandbox/execs')
      .send({ project_id: 'p', exec, policy_overrides: { memory_mb: 257 } });
    expect(refused.status).toBe(403);
    expect((refused.body as ErrorBody).error.details).toMatchObject({
      violations: [{ field: 'memory_mb', asked: 257, ceiling: 256, layer: 'settings' }],
    });
    const { policy_snapshot: policy } = await service.shell('true');
    expect(policy).toMatchObject({
      values: { timeout_ms: 5000, memory_mb: 256 },
      sources: { timeout_ms: 'settings', memory_mb: 'settings', pids: 'system' },
      settings_version: 1,
    });
  });

  test('workspace_root holds from the next start; older results stay where they are', async () => {
    const before = await service.shell('echo kept; echo x > /workspace/artifacts/x');
    const root = join(service.dataDir, 'elsewhere');
    expect((await put({ sandbox: { workspace_root: root } }, '"0"')).status).toBe(200);
    await service.stop();
    service = await startRunningService({}, service.dataDir);
    const after = await service.shell('echo new');
    expect(after.artifacts_dir.startsWith(root)).toBe(true);
    expect((await get(`/sandbox/execs/${before.exec_id}`)).body).toEqual(before);
  });

  test('read_only_root may be turned off when Settings allow it, and only then', async () => {
    const writable = { policy_overrides: { read_only_root: false } };
    await expect(service.shell('true', writable)).rejects.toThrow('policy_exceeded');
    await put({ policy: { ceilings: { read_only_root: false } } }, '"0"');
    expect((await service.shell('touch /var/tmp/x && echo wrote', writable)).stdout).toBe('wrote\n');
    expect((await service.shell('touch /var/tmp/x 2>/dev/null || echo refused')).stdout).toBe('refused\n');
  });
});
