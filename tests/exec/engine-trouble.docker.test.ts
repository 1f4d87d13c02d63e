import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { join } from 'node:path';
import type { ExecAnswer } from '@secbox/contracts';
import { containersOf } from './engine-view.js';
import { fileAppears } from './file-appears.js';
import { startRunningService, type RunningService } from './running-service.js';
import { startTroubledEngine, type TroubledEngine } from './troubled-engine.js';

let engine: TroubledEngine;
let service: RunningService;
beforeEach(async () => {
  engine = await startTroubledEngine();
  service = await startRunningService({ DOCKER_HOST: engine.dockerHost });
});
afterEach(async () => {
  engine.swallow(undefined);
  engine.fail(undefined);
  await service.stop();
  // What the trouble left behind is gone with the next start.
  const next = await startRunningService({}, service.dataDir);
  expect(await containersOf(service.dataDir)).toEqual([]);
  await next.close();
  await engine.close();
});

const shell = (script: string) => ({
  project_id: 'p',
  exec: { kind: 'shell', command: 'bash', args: ['-lc', script] },
});

async function call(method: string, path: string, body?: unknown): Promise<ExecAnswer> {
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await response.json()) as ExecAnswer;
}

describe('an engine in trouble', () => {
  test('that does not answer a start: the exec can be cancelled, and the service stops', async () => {
    engine.swallow(/^POST [^ ]*\/start/);
    const { exec_id: execId } = await call('POST', '/sandbox/execs?wait=false', shell('echo never'));
    for (;;) if ((await call('GET', `/sandbox/execs/${execId}`)).status === 'running') break;
    const cancelled = await call('POST', `/sandbox/execs/${execId}/cancel`);
    expect(cancelled).toMatchObject({
      status: 'cancelled',
      error_reason: 'cancelled by a caller',
      exit_code: null,
    });
  });

  test('that does not remove a container: the result is kept, and the container goes later', async () => {
    engine.fail(/^DELETE /);
    expect(await service.shell('echo result; echo x > /workspace/artifacts/x')).toMatchObject({
      status: 'succeeded',
      stdout: 'result\n',
      artifacts: [{ path: 'x' }],
    });
    expect(service.log()).toContain('exec.container_left');
  });

  test.each(['dockerode', 'cli'])(
    'that answers no question does not hang the health check (%s)',
    async (adapter) => {
      const other = await startRunningService({
        DOCKER_HOST: engine.dockerHost,
        SECBOX_ENGINE_ADAPTER: adapter,
      });
      try {
        engine.swallow(/^(GET|HEAD) /);
        const response = await fetch(`${other.url}/sandbox/health`);
        expect(response.status).toBe(503);
        expect(await response.json()).toMatchObject({
          status: 'degraded',
          problems: expect.arrayContaining([
            expect.stringMatching(/^engine: .*does not answer/),
            expect.stringMatching(/^image: .*does not answer/),
          ]),
          database_writable: true,
        });
      } finally {
        await other.close();
      }
    },
  );

  test('whose stream breaks: the exec failed with a reason, and its container is gone', async () => {
    const running = service.shell('echo begun; touch begun; sleep 250');
    await fileAppears(join(service.dataDir, 'workspace/projects/p/work/begun'));
    engine.cutAttached();
    const answer = await running;
    expect(answer).toMatchObject({ status: 'failed', exit_code: null, stdout: 'begun\n' });
    expect(answer.error_reason).toContain('could not be heard');
    expect(await containersOf(service.dataDir)).toEqual([]);
  });

  test('that refuses to create: an error that says so, a row that ends, and the next exec runs', async () => {
    engine.fail(/^POST [^ ]*\/containers\/create/);
    await expect(service.shell('true')).rejects.toThrow('internal_error');
    engine.fail(undefined);
    expect((await service.shell('echo again')).stdout).toBe('again\n');
  });
});
