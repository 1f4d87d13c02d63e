import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ExecAnswer } from '@secbox/contracts';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from '../../docker/setup/settings.mjs';
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

  test('a repeat is its exec also when its skill is gone', async () => {
    const skills = await mkdtemp(join(tmpdir(), 'skills-'));
    const known = async () => (await fetch(`${service.url}/skills/json.query`)).status;
    try {
      const skill = join(skills, 'json.query');
      await cp(join(repositoryRoot, 'skills/json.query'), skill, { recursive: true });
      await service.stop();
      service = await startRunningService({ SECBOX_SKILLS_DIR: skills }, service.dataDir);
      const first = await post('k', count, { skill_id: 'json.query' });
      expect(first.status).toBe(200);
      await rm(skill, { recursive: true });
      while ((await known()) !== 404) await new Promise((resolve) => setTimeout(resolve, 20));
      expect(await post('k', count, { skill_id: 'json.query' })).toEqual(first);
      expect((await post('k', 'true', { skill_id: 'json.query' })).status).toBe(422);
      expect((await post('other', count, { skill_id: 'json.query' })).status).toBe(404);
    } finally {
      await rm(skills, { recursive: true });
    }
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
