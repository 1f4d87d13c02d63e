import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { ExecAnswer } from '@secbox/contracts';
import request from 'supertest';
import { containersOf } from '../exec/engine-view.js';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { startEngineWithRunsc, type EngineWithRunsc } from './engine-with-runsc.js';

const onLinuxAsRoot = process.platform === 'linux' && process.getuid?.() === 0;

let engine: EngineWithRunsc;
let service: RunningService;

const health = () => request(service.url).get('/sandbox/health');
const choose = (runtime: string, replaces = '"0"') =>
  request(service.url).put('/settings').set('if-match', replaces).send({ sandbox: { runtime } });
const greet = {
  project_id: 'p',
  exec: { kind: 'shell', command: 'bash', args: ['-lc', 'echo hi'] },
};
const post = () => request(service.url).post('/sandbox/execs').send(greet);

(onLinuxAsRoot ? describe : describe.skip)('sandbox.runtime', () => {
  beforeAll(async () => {
    engine = await startEngineWithRunsc();
    process.env['DOCKER_HOST'] = engine.dockerHost;
  });
  afterAll(() => engine.close());
  beforeEach(async () => {
    await engine.offer(engine.runsc);
    service = await startRunningService();
  });
  afterEach(() => service.close());

  test("is the engine's own unless Settings choose, and is in the plan", async () => {
    expect((await health()).body).toMatchObject({
      status: 'ok',
      warnings: [],
      runtime: { name: 'runc', offered: expect.arrayContaining(['runc', 'runsc']) },
    });
    const before = (await post()).body as ExecAnswer;
    expect(before.policy_snapshot.runtime).toEqual({ value: 'runc', layer: 'engine' });
    expect((await choose('runsc')).status).toBe(200);
    expect((await health()).body).toMatchObject({ status: 'ok', runtime: { name: 'runsc' } });
    const after = (await post()).body as ExecAnswer;
    expect(after).toMatchObject({
      status: 'succeeded',
      stdout: 'hi\n',
      policy_snapshot: { runtime: { value: 'runsc', layer: 'settings' }, settings_version: 1 },
    });
    expect(after.request_hash).toBe(before.request_hash);
    expect(after.plan_hash).not.toBe(before.plan_hash);
  });

  test('that the engine does not offer is refused, with what it offers', async () => {
    const refused = await choose('kata');
    expect([refused.status, refused.body]).toEqual([
      400,
      {
        error: {
          kind: 'invalid',
          code: 'invalid_setting',
          message: expect.stringContaining('does not offer the runtime "kata"; it offers '),
          details: { setting: 'sandbox.runtime', offered: expect.arrayContaining(['runc', 'runsc']) },
        },
      },
    ]);
    expect((await request(service.url).get('/settings')).body).toMatchObject({ version: 0 });
  });

  test.each(['', '-x', '--privileged', 'a b', '../runsc', 'x'.repeat(129), 7, null, ['runsc']])(
    'of %j is malformed',
    async (runtime) => {
      const answer = await choose(runtime as string);
      expect([answer.status, (answer.body as { error: object }).error]).toMatchObject([
        400,
        { code: 'invalid_request' },
      ]);
    },
  );

  test('is not for requests to choose (case 47)', async () => {
    const asked = { ...greet, policy_overrides: { runtime: 'runc' } };
    expect((await request(service.url).post('/sandbox/execs').send(asked)).status).toBe(403);
    const beside = { ...greet, runtime: 'runc' };
    expect((await request(service.url).post('/sandbox/execs').send(beside)).status).toBe(400);
  });

  test.each(['dockerode', 'cli'])('that the engine lost runs nothing in its place (%s)', async (adapter) => {
    await choose('runsc').expect(200);
    await service.stop();
    await engine.offer({});
    service = await startRunningService({ SECBOX_ENGINE_ADAPTER: adapter }, service.dataDir);
    const sick = await health();
    expect([sick.status, sick.body]).toMatchObject([
      503,
      {
        problems: [
          expect.stringMatching(/^runtime: the engine does not offer the runtime "runsc"; it offers /),
        ],
        runtime: { name: 'runsc', offered: expect.not.arrayContaining(['runsc']) },
      },
    ]);
    const refused = await post();
    const { error } = refused.body as { error: { code: string; details: { exec_id: string } } };
    expect([refused.status, error.code]).toEqual([503, 'runtime_missing']);
    expect((await request(service.url).get(`/sandbox/execs/${error.details.exec_id}`)).body).toMatchObject({
      status: 'error',
      started_at: null,
      stdout: '',
      error_reason: expect.stringContaining('nothing ran in its place'),
    });
    expect(await containersOf(service.dataDir)).toEqual([]);

    await engine.offer(engine.runsc);
    expect((await health()).status).toBe(200);
    expect((await post()).body).toMatchObject({ status: 'succeeded', stdout: 'hi\n' });
  });

  test.each(['dockerode', 'cli'])('whose program is gone runs nothing in its place (%s)', async (adapter) => {
    await engine.offer({ runsc: { path: '/nowhere/runsc' } });
    await service.stop();
    service = await startRunningService({ SECBOX_ENGINE_ADAPTER: adapter }, service.dataDir);
    await choose('runsc').expect(200);
    expect((await post()).body).toMatchObject({ error: { code: 'runtime_missing' } });
    expect(await containersOf(service.dataDir)).toEqual([]);
  });

  test('under which no limit holds is warned of', async () => {
    const path = engine.runsc['runsc']?.path ?? '';
    await engine.offer({ unlimited: { path, runtimeArgs: ['--network=none', '--ignore-cgroups'] } });
    await choose('unlimited').expect(200);
    const warned = await health();
    expect([warned.status, warned.body]).toMatchObject([
      200,
      { warnings: [expect.stringContaining('"unlimited" runs with --ignore-cgroups, so no limit')] },
    ]);
  });
});
