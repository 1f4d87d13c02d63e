import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { EngineApi } from '../../docker/setup/engine-api.mjs';
import { startRunningService, type RunningService } from './running-service.js';

const api = new EngineApi({ host: process.env['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock' });
const repo = `secbox-test/${randomUUID()}`;
let service: RunningService;

beforeAll(async () => {
  const json = { Image: 'secbox/sandbox:latest', HostConfig: { NetworkMode: 'none' } };
  const { Id } = (await api.call('POST', '/containers/create', { json })) as { Id: string };
  const changes = 'LABEL secbox.init=none';
  await api.call('POST', '/commit', { query: { container: Id, repo, tag: 'latest', changes } });
  await api.call('DELETE', `/containers/${Id}`);
  service = await startRunningService({ SECBOX_SANDBOX_IMAGE: `${repo}:latest` });
});
afterAll(async () => {
  await service.close();
  await api.call('DELETE', `/images/${repo}:latest`);
});

test('its command is the container’s own: output, stdin, files and exit code are as ever', async () => {
  const exec = await service.shell('cat; cat ../inputs/in; echo no >&2; echo x > ../artifacts/x; exit 3', {
    exec: { stdin: 'given ' },
    inputs: [{ path: 'in', content: 'brought' }],
  });
  expect(exec).toMatchObject({
    status: 'failed',
    exit_code: 3,
    stdout: 'given brought',
    stderr: 'no\n',
    start_mode: 'cold',
    artifacts: [{ path: 'x', size: 2 }],
  });
});

test('what does not end is ended at its deadline, and what takes too much memory by the kernel', async () => {
  const late = await service.shell('sleep 60', { policy_overrides: { timeout_ms: 1000 } });
  expect(late.status).toBe('timed_out');
  const large = await service.python('x = bytearray(300 * 1024 ** 2)', {
    policy_overrides: { memory_mb: 64 },
  });
  expect(large.status).toBe('oom_killed');
});

test('variables are refused, as the engine would show their values, and health warns of it', async () => {
  await expect(service.shell('true', { exec: { env: { TOKEN: 'canary' } } })).rejects.toThrow(
    /^400 .*exec\.env.*no init of ours/,
  );
  const health = (await (await fetch(`${service.url}/sandbox/health`)).json()) as { warnings: string[] };
  expect(health.warnings).toEqual([expect.stringContaining('has no init of ours')]);
});
