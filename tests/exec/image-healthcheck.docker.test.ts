import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { EngineApi } from '../../docker/setup/engine-api.mjs';
import { inspectContainer, runningContainer } from './engine-view.js';
import { startRunningService } from './running-service.js';

const api = new EngineApi({ host: process.env['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock' });
const repo = `secbox-test/${randomUUID()}`;

beforeAll(async () => {
  const json = { Image: 'secbox/sandbox:latest', HostConfig: { NetworkMode: 'none' } };
  const { Id } = (await api.call('POST', '/containers/create', { json })) as { Id: string };
  const changes = 'HEALTHCHECK --interval=1s CMD touch /workspace/work/checked';
  await api.call('POST', '/commit', { query: { container: Id, repo, tag: 'latest', changes } });
  await api.call('DELETE', `/containers/${Id}`);
});
afterAll(() => api.call('DELETE', `/images/${repo}:latest`));

test.each(['dockerode', 'cli'])("an image's own health check is never run (%s)", async (adapter) => {
  const image = (await api.call('GET', `/images/${repo}:latest/json`)) as { Config: object };
  expect(image.Config).toMatchObject({ Healthcheck: { Test: ['CMD-SHELL', expect.any(String)] } });
  const service = await startRunningService({
    SECBOX_ENGINE_ADAPTER: adapter,
    SECBOX_SANDBOX_IMAGE: `${repo}:latest`,
  });
  try {
    const running = service.shell('while [ ! -e /workspace/work/go ]; do sleep 0.05; done');
    const { Id } = await runningContainer(service.dataDir);
    const { Config, State } = await inspectContainer(Id);
    await service.shell('touch /workspace/work/go');
    expect((await running).status).toBe('succeeded');
    expect(Config).toMatchObject({ Healthcheck: { Test: ['NONE'] } });
    expect(State).not.toHaveProperty('Health');
  } finally {
    await service.close();
  }
});
