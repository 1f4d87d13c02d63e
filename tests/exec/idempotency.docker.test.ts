import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ExecAnswer } from '@secbox/contracts';
import { startRunningService, type RunningService } from './running-service.js';

let service: RunningService;
beforeEach(async () => {
  service = await startRunningService();
});
afterEach(() => service.close());

async function post(
  key: string,
  script: string,
  more: Record<string, unknown> = {},
): Promise<{ status: number; body: ExecAnswer }> {
  const response = await fetch(`${service.url}/sandbox/execs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify({
      project_id: 'p',
      exec: { kind: 'shell', command: 'bash', args: ['-lc', script] },
      ...more,
    }),
  });
  return { status: response.status, body: (await response.json()) as ExecAnswer };
}

const count = 'echo ran >> runs; cat runs';

describe('Idempotency-Key', () => {
  test('the same again later, also after a restart, is the same exec', async () => {
    const first = await post('k', count);
    expect(await post('k', count)).toEqual(first);
    await service.stop();
    service = await startRunningService({}, service.dataDir);
    expect(await post('k', count)).toEqual(first);
  });

  test('equal and other submissions at once: one exec, and 422 for the others', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => post('k', n % 2 === 0 ? count : 'true')),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 422)).toHaveLength(10);
  });

  test('a refused request leaves its key free', async () => {
    expect((await post('k', count, { policy_overrides: { memory_mb: 99_999 } })).status).toBe(403);
    expect((await post('k', count)).status).toBe(200);
  });

  test.each(['', 'a b', 'ü', 'x'.repeat(256)])('%j is not a key', async (key) => {
    const status = await post(key, count).then(
      (answer) => answer.status,
      // The client itself refuses to send some of them.
      () => 400,
    );
    expect(status).toBe(400);
  });
});
