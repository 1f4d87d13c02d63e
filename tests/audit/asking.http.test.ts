import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ExecAnswer, ExecPage, ExecRecord, ExecStats } from '@secbox/contracts';
import { startRunningService, type RunningService } from '../exec/running-service.js';

let service: RunningService;
let execs: ExecAnswer[];
beforeAll(async () => {
  service = await startRunningService();
  execs = [
    await service.shell('echo "needle in here"', { task_ref: { task_id: 't-1', conversation_id: 'c-1' } }),
    await service.shell('exit 3', { task_ref: { task_id: 't-1' } }),
    await service.python('print("=cmd()")', { project_id: 'q', task_ref: { task_id: '=1+1' } }),
    await service.shell('true', { project_id: 'q' }),
  ];
});
afterAll(() => service.close());

const get = (path: string) => fetch(`${service.url}${path}`);
async function list(query: string): Promise<ExecPage> {
  const response = await get(`/sandbox/execs?${query}`);
  expect(response.status).toBe(200);
  return (await response.json()) as ExecPage;
}
const idsOf = (records: readonly ExecRecord[]) => records.map(({ exec_id: id }) => id);
const rowsOf = (...numbers: number[]) => numbers.map((n) => execs[n]?.exec_id);

describe('GET /sandbox/execs', () => {
  test('lists rows newest first, as they were recorded', async () => {
    const { execs: listed, next_cursor: next } = await list('');
    expect(idsOf(listed)).toEqual(rowsOf(3, 2, 1, 0));
    expect(next).toBeNull();
    expect(execs[0]).toMatchObject({ ...listed[3] });
    expect(listed[3]).toMatchObject({
      tenant: 'default',
      actor: null,
      sandbox_type: 'docker',
      start_mode: 'cold',
      queue_ms: expect.any(Number),
    });
  });

  test.each<[string, number[]]>([
    ['task_id=t-1', [1, 0]],
    ['conversation_id=c-1', [0]],
    ['project_id=q', [3, 2]],
    ['status=failed', [1]],
    ['status=running', []],
    ['actor=nobody', []],
    ['skill_id=shell.run', []],
    ['q=NEEDLE+in', [0]],
    ['q=%22needle%20in', [0]],
    ['since=2000-01-01&until=2000-01-02', []],
    ['since=2000-01-01&sort=created_at', [0, 1, 2, 3]],
    ['project_id=q&status=succeeded&q=true', [3]],
    ['task_id=%3D1%2B1', [2]],
  ])('?%s', async (query, expected) => {
    expect(idsOf((await list(query)).execs)).toEqual(rowsOf(...expected));
  });

  test('goes on from a cursor, to the end', async () => {
    const first = await list('limit=3');
    expect(idsOf(first.execs)).toEqual(rowsOf(3, 2, 1));
    const second = await list(`limit=3&cursor=${first.next_cursor}`);
    expect(idsOf(second.execs)).toEqual(rowsOf(0));
    expect(second.next_cursor).toBeNull();
  });

  test.each([
    'limit=0',
    'limit=1001',
    'limit=ten',
    'limit=1e2',
    'limit=-1',
    'limit=',
    'limit=5&limit=5',
    'task_id=a&task_id=b',
    'task_id=',
    `task_id=${'x'.repeat(300)}`,
    'unknown=1',
    '__proto__=1',
    'constructor=1',
    'status=nonsense',
    'status=failed,succeeded',
    'sort=duration_ms',
    'sort=created_at;DROP TABLE sandbox_execs',
    'since=yesterday',
    'since=2024-13-01',
    'until=2024-01-01T00:00',
    'q=ab',
    'q=%00%00%00',
    'cursor=',
    'cursor=AAAA',
    `cursor=${'A'.repeat(400)}`,
    "cursor=' OR 1=1 --",
  ])('refuses ?%s clearly (case 58)', async (query) => {
    const response = await get(`/sandbox/execs?${query}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_request' } });
  });

  test('a cursor that was changed, or is of another list, is refused', async () => {
    const { next_cursor: cursor } = await list('limit=1');
    if (cursor === null) throw new Error('no cursor');
    const at = Math.floor(cursor.length / 2);
    const changed = cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1);
    for (const query of [
      `cursor=${changed}`,
      `cursor=${cursor}A`,
      `cursor=${cursor}&project_id=q`,
      `cursor=${cursor}&sort=created_at`,
    ]) {
      expect((await get(`/sandbox/execs?limit=1&${query}`)).status).toBe(400);
    }
    expect((await get(`/sandbox/execs?limit=2&cursor=${cursor}`)).status).toBe(200);
  });

  test.each([`'; DROP TABLE sandbox_execs; --`, `" OR "1"="1`, '*', 'x" OR command:"y', '%', 'NEAR(a b)'])(
    'takes %j in any filter as text (case 58)',
    async (hostile) => {
      const value = encodeURIComponent(hostile);
      for (const field of ['task_id', 'conversation_id', 'project_id', 'skill_id', 'actor']) {
        expect((await list(`${field}=${value}`)).execs).toEqual([]);
      }
      expect((await list(`q=${encodeURIComponent(`zzz${hostile}`)}`)).execs).toEqual([]);
      expect((await list('')).execs).toHaveLength(4);
    },
  );
});

test('ids cannot be guessed: 122 random bits each (case 62)', async () => {
  for (const { exec_id: id } of (await list('')).execs) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
});

describe('GET /sandbox/execs/export', () => {
  test('as JSON lines has what the list has', async () => {
    const response = await get('/sandbox/execs/export?format=jsonl&sort=created_at');
    expect(response.headers.get('content-type')).toBe('application/jsonl');
    expect(response.headers.get('content-disposition')).toBe('attachment; filename=execs.jsonl');
    const lines = (await response.text()).trimEnd().split('\n');
    const { execs: listed } = await list('sort=created_at');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(listed);
  });

  test('as CSV is no formula anywhere, and filters', async () => {
    const response = await get('/sandbox/execs/export?format=csv&project_id=q&q=cmd()');
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const [header, line, end] = (await response.text()).split('\r\n');
    expect(header).toMatch(/^exec_id,tenant,actor,project_id,task_id,/);
    expect(line).toContain(`,"'=1+1",`);
    expect(end).toBe('');
  });

  test('of nothing is empty, and HEAD has no body', async () => {
    expect(await (await get('/sandbox/execs/export?format=jsonl&actor=nobody')).text()).toBe('');
    const head = await fetch(`${service.url}/sandbox/execs/export?format=csv`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  test.each(['', 'format=xml', 'format=csv&limit=3', 'format=csv&format=csv', 'format=csv&q=a'])(
    'refuses ?%s',
    async (query) => {
      const response = await get(`/sandbox/execs/export?${query}`);
      expect(response.status).toBe(400);
      expect(response.headers.get('content-type')).toContain('application/json');
    },
  );
});

describe('GET /sandbox/execs/stats', () => {
  test('counts by day, status, skill and actor', async () => {
    const stats = (await (await get('/sandbox/execs/stats')).json()) as ExecStats;
    expect(stats.total).toMatchObject({ execs: 4, duration_ms: { p50: expect.any(Number) } });
    const days = new Set(execs.map(({ created_at: at }) => at.slice(0, 10)));
    expect(new Set(stats.by_day.map(({ key }) => key))).toEqual(days);
    expect(stats.by_status.map(({ key, execs: n }) => [key, n])).toEqual([
      ['succeeded', 3],
      ['failed', 1],
    ]);
    expect(stats.by_skill).toMatchObject([{ key: null, execs: 4 }]);
    expect(stats.by_actor).toMatchObject([{ key: null, execs: 4 }]);
  });

  test('filters, and refuses what it does not know', async () => {
    const stats = (await (await get('/sandbox/execs/stats?task_id=t-1')).json()) as ExecStats;
    expect(stats.total.execs).toBe(2);
    expect((await get('/sandbox/execs/stats?limit=3')).status).toBe(400);
  });
});

test.each(['export', 'stats', 'nonsense'])('POST to /sandbox/execs/%s runs nothing', async (name) => {
  const response = await fetch(`${service.url}/sandbox/execs/${name}`, { method: 'POST' });
  expect(response.status).toBe(405);
});
