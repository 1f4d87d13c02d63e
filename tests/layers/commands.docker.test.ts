import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { at, startLayeredService, type LayeredService } from './layered-service.js';

/** What a cluster tells a server of itself. */
const told = { KUBERNETES_SERVICE_HOST: '10.0.0.1', SERVICE_PORT: '1', SECRET_TOKEN: 'canary' } as const;

let service: LayeredService;
beforeAll(async () => {
  Object.assign(process.env, told);
  service = await startLayeredService({ weather: { 'SKILL.md': '# W\n', 'main.py': 'print(1)\n' } });
}, 60_000);
afterAll(async () => {
  for (const name of Object.keys(told)) Reflect.deleteProperty(process.env, name);
  await service.close();
});

const place = at('u1');
const count = async () => {
  const page = (await (await fetch(`${service.url}/sandbox/execs?limit=1000`)).json()) as {
    execs: unknown[];
  };
  return page.execs.length;
};

describe('commands of the v1 API', () => {
  test('SKILL.md is touched only in the root of a skill', async () => {
    expect((await service.execute(place, 'cat', ['SKILL.md'])).body.data.stdout).toBe('# W\n');
    expect((await service.inSandbox(place, 'cat', ['SKILL.md'])).http).toBe(403);
    expect((await service.inSandbox(place, 'rm', ['x/skill.MD'])).http).toBe(403);
  });

  test('what the server and its cluster are told stays with them', async () => {
    expect(process.env).toMatchObject(told);
    const { body } = await service.execute(place, 'python3', ['-c', 'import os; print(dict(os.environ))']);
    expect(body.data.stdout).toContain("'PATH'");
    expect(body.data.stdout).not.toMatch(/KUBERNETES_|SERVICE_|SECRET_|SECBOX_|DOCKER_|canary/i);
  });
});

describe('ids (case 7)', () => {
  // There is a folder of sandboxes from here on.
  beforeAll(() => service.inSandbox(place, 'ls'));

  const long = 'x'.repeat(300);
  test.each(['..', '.', 'a:b', 'a,b', '-v', long, '%00', 'a%2Fb', '..%2F..', '%2e%2e'])(
    '%# is nobody',
    async (id) => {
      for (const path of [
        `/v1/skills/${id}/agent001/weather`,
        `/v1/skills/u1/${id}/weather`,
        `/v1/skills/u1/agent001/${id}`,
        `/v1/sandbox/${id}/agent001`,
        `/v1/sandbox/u1/${id}`,
      ]) {
        const response = await fetch(`${service.url}${path}/execute?command=ls`, { method: 'POST' });
        // Dots are taken out of a path before it is sent.
        expect([400, 404, 405]).toContain(response.status);
      }
      const made = readdirSync(join(service.product, 'sandbox')).filter((name) => !/^u\d+$/.test(name));
      expect(made).toEqual([]);
    },
  );

  test('a project of such execs cannot be named by others', async () => {
    const row = await service.row((await service.execute(place, 'ls')).body.data.exec_id);
    const response = await fetch(`${service.url}/sandbox/execs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        project_id: row.project_id,
        exec: { kind: 'shell', command: 'bash', args: ['-lc', 'ls'] },
      }),
    });
    expect(response.status).toBe(400);
  });

  test('a skill that the user does not have is not there, and nothing is recorded', async () => {
    const before = await count();
    expect((await service.execute(at('u1', 'none'), 'ls')).http).toBe(404);
    expect(await count()).toBe(before);
  });
});
