import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { containersGone } from './engine-view.js';
import { startRunningService, type RunningService } from './running-service.js';

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService({ SECBOX_ENGINE_ADAPTER: 'cli' });
});
afterAll(() => service.close());

test('the docker program serves execs as the HTTP API does', async () => {
  const answer = await service.shell(
    'cat; echo err >&2; grep Seccomp: /proc/self/status; ls /sys/class/net; exit 3',
    {
      exec: { stdin: 'given\n' },
    },
  );
  expect(answer).toMatchObject({
    status: 'failed',
    exit_code: 3,
    stdout: 'given\nSeccomp:\t2\nlo\n',
    stderr: 'err\n',
  });
  const late = await service.shell('sleep 250', { policy_overrides: { timeout_ms: 500 } });
  expect(late.status).toBe('timed_out');
  await containersGone(service.dataDir);
});
