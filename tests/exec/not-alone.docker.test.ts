import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EngineApi } from '../../docker/setup/engine-api.mjs';
import { containersOf, runningContainer } from './engine-view.js';
import { startRunningService, type RunningService } from './running-service.js';

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService({ SECBOX_POOL_SIZE: '0' });
});
afterAll(() => service.close());

test('where an operator is at work in the container, it is gone before anything is collected and answered', async () => {
  const engine = new EngineApi({ host: process.env['DOCKER_HOST'] ?? '' });
  const running = service.shell('while [ ! -e /tmp/go ]; do sleep 0.05; done; echo done');
  const { Id: container } = await runningContainer(service.dataDir);
  const inContainer = async (user: string, command: readonly string[]) => {
    const json = { User: user, Cmd: command };
    const { Id } = (await engine.call('POST', `/containers/${container}/exec`, { json })) as { Id: string };
    await engine.call('POST', `/exec/${Id}/start`, { json: { Detach: true } });
  };
  // Of another user, so that the init cannot end it.
  await inContainer('0', ['sleep', '600']);
  await inContainer('1000', ['touch', '/tmp/go']);
  expect(await running).toMatchObject({ status: 'succeeded', stdout: 'done\n' });
  expect(await containersOf(service.dataDir)).toEqual([]);
});
