import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { at, startLayeredService, type LayeredService } from '../layers/layered-service.js';

let service: LayeredService;
beforeAll(async () => {
  service = await startLayeredService({ weather: { 'SKILL.md': '# W\n', 'main.py': 'print(1)\n' } });
}, 60_000);
afterAll(() => service.close());

const place = at('u1');
const count = async () => {
  const page = (await (await fetch(`${service.url}/sandbox/execs?limit=1000`)).json()) as {
    execs: unknown[];
  };
  return page.execs.length;
};

test.each([
  ['/tmp/ls', [], 403],
  ['ls;id', [], 403],
  ['$(id)', [], 403],
  ['`id`', [], 403],
  ['ls id', [], 403],
  ['ls\nid', [], 403],
  ['../ls', [], 403],
  ['LS', [], 403],
  ['node', [], 403],
  ['docker', [], 403],
  ['', [], 400],
  ['ls', ['/etc/passwd'], 403],
  ['ls', ['/'], 403],
  ['cat', ['--file=/etc/passwd'], 403],
  ['cat', ['../x'], 403],
  ['cat', ['a/../../x'], 403],
  ['cat', ['/workspace/work/../inputs'], 403],
  ['curl', ['file:///etc/passwd'], 403],
  ['curl', ['-d', '@/etc/passwd'], 403],
  ['cat', ['data/SKILL.md'], 403],
  ['ls', 'text', 400],
  ['ls', { a: 1 }, 400],
  ['ls', [1], 400],
  ['ls', [null], 400],
  ['ls', ['\0'], 400],
  ['ls', ['\ud800'], 400],
  ['ls', Array.from({ length: 1001 }, () => 'x'), 400],
  ['ls', ['x'.repeat(200_000)], 400],
])('case 52: %# %j is refused, and nothing of it runs', async (command, args, status) => {
  const before = await count();
  const { http, body } = await service.execute(place, command, args);
  expect([http, JSON.stringify(body)]).toEqual([status, expect.stringMatching(/"code":"/)]);
  expect(await count()).toBe(before);
});

test('case 52: no shell reads what is in an argument', async () => {
  const hostile = '$(touch pwned) `touch pwned` ; touch pwned | x && y > pwned \n "\'*';
  const { body } = await service.execute(place, 'echo', [hostile]);
  expect(body.data).toMatchObject({ stdout: `${hostile}\n`, effects: { totals: { added: 0 } } });
  expect((await service.inSandbox(place, 'echo', [hostile])).body.data.stdout).toBe(`${hostile}\n`);
  expect((await service.inSandbox(place, 'ls', ['-A'])).body.data.stdout).toBe('');
});

test('case 52: a query that says too much, or twice, is refused', async () => {
  const post = (query: string) =>
    fetch(`${service.url}/v1/skills/u1/agent001/weather/execute?${query}`, { method: 'POST' });
  expect((await post('command=ls&command=id')).status).toBe(400);
  expect((await post('command=ls&user=0')).status).toBe(400);
  expect((await post('')).status).toBe(400);
  expect((await post('command=ls')).status).toBe(200);
});
