import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecAnswer } from '@secbox/contracts';
import { containersGone, containersOf } from './engine-view.js';
import { fileAppears } from './file-appears.js';
import { startRunningService, type RunningService } from './running-service.js';
import { startTroubledEngine, type TroubledEngine } from './troubled-engine.js';

let engine: TroubledEngine;
let service: RunningService;
beforeEach(async () => {
  engine = await startTroubledEngine();
  service = await startRunningService({ DOCKER_HOST: engine.dockerHost });
  // The trouble is for execs, not for what the service itself tries out at first.
  await fetch(`${service.url}/sandbox/health`);
});
afterEach(async () => {
  engine.swallow(undefined);
  engine.fail(undefined);
  engine.vanish(false);
  engine.hold(undefined);
  await service.stop();
  // What the trouble left behind is gone with the next start.
  const next = await startRunningService({}, service.dataDir);
  await containersGone(service.dataDir);
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

/** Waits until what it printed is on our side. */
async function printed(execId: string, text: string): Promise<void> {
  const stdout = async () => (await fetch(`${service.url}/sandbox/execs/${execId}/stdout`)).text();
  while ((await stdout()) !== text) await new Promise((done) => setTimeout(done, 20));
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

  test('that makes a container when nobody waits for it any more: it is removed all the same', async () => {
    engine.hold(/^POST [^ ]*\/containers\/create/);
    const { exec_id: execId } = await call('POST', '/sandbox/execs?wait=false', shell('echo never'));
    while ((await containersOf(service.dataDir)).length === 0);
    expect(await call('POST', `/sandbox/execs/${execId}/cancel`)).toMatchObject({
      status: 'cancelled',
      started_at: null,
    });
    engine.hold(undefined);
    while ((await containersOf(service.dataDir)).length > 0);
  });

  test('that does not remove a container: the result is kept, and the container goes later', async () => {
    engine.fail(/^DELETE /);
    expect(await service.shell('echo result; echo x > /workspace/artifacts/x')).toMatchObject({
      status: 'succeeded',
      stdout: 'result\n',
      artifacts: [{ path: 'x' }],
    });
    while (!service.log().includes('exec.container_left')) await new Promise((done) => setTimeout(done, 20));
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
    const { exec_id: execId } = await call(
      'POST',
      '/sandbox/execs?wait=false',
      shell('echo begun; sleep 250'),
    );
    await printed(execId, 'begun\n');
    engine.cutAttached();
    const ended = await fetch(`${service.url}/sandbox/execs/${execId}/events`);
    await ended.text();
    const answer = await call('GET', `/sandbox/execs/${execId}`);
    expect(answer).toMatchObject({ status: 'failed', exit_code: null, stdout: 'begun\n' });
    expect(answer.error_reason).toContain('could not be heard');
    await containersGone(service.dataDir);
  });

  describe('that is lost while an exec runs (case 64)', () => {
    async function lostExec(): Promise<string> {
      const script = 'echo early; echo x > /workspace/artifacts/x; touch begun; sleep 250';
      const { exec_id: execId } = await call('POST', '/sandbox/execs?wait=false', shell(script));
      await fileAppears(join(service.dataDir, 'workspace/projects/p/work/begun'));
      await printed(execId, 'early\n');
      engine.vanish(true);
      while (!service.log().includes('exec.container_uncertain'))
        await new Promise((done) => setTimeout(done, 20));
      return execId;
    }

    test('and comes back: the exec ends, and is collected, when its container is surely gone', async () => {
      const execId = await lostExec();
      const meanwhile = await call('GET', `/sandbox/execs/${execId}`);
      expect(meanwhile).toMatchObject({ status: 'running', artifacts: [] });
      expect(await readdir(meanwhile.artifacts_dir)).toEqual(['x']);
      await expect(service.shell('true')).rejects.toThrow('engine_unavailable');

      engine.vanish(false);
      for (;;) if ((await call('GET', `/sandbox/execs/${execId}`)).status !== 'running') break;
      expect(await containersOf(service.dataDir)).toEqual([]);
      expect(await call('GET', `/sandbox/execs/${execId}`)).toMatchObject({
        status: 'error',
        error_reason: 'interrupted: the container engine was lost while this exec ran',
        stdout: 'early\n',
        artifacts: [{ path: 'x', size: 2 }],
      });
      expect((await service.shell('echo on')).stdout).toBe('on\n');
    });

    test('and the server is stopped: it does not say that the exec is over, the next one does', async () => {
      const execId = await lostExec();
      await service.stop();
      engine.vanish(false);
      service = await startRunningService({ DOCKER_HOST: engine.dockerHost }, service.dataDir);
      expect(await containersOf(service.dataDir)).toEqual([]);
      expect(await call('GET', `/sandbox/execs/${execId}`)).toMatchObject({
        status: 'error',
        error_reason: 'interrupted: the server ended while this exec was under way',
      });
    });
  });

  test('that refuses to create: an error that says so, a row that ends, and the next exec runs', async () => {
    engine.fail(/^POST [^ ]*\/containers\/create/);
    await expect(service.shell('true')).rejects.toThrow('internal_error');
    engine.fail(undefined);
    expect((await service.shell('echo again')).stdout).toBe('again\n');
  });
});
