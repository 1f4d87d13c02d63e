import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { roles, type Role } from '@secbox/contracts';
import { rawRequest } from '../access/raw-request.js';
import { startKeyedService, type KeyedService } from '../access/keyed-service.js';
import { startRunningService } from '../exec/running-service.js';
import { initialize } from './initialize.js';
import { connect } from './roads.js';

let service: KeyedService;
beforeAll(async () => {
  service = await startKeyedService();
});
afterAll(() => service.close());

const accept = 'application/json, text/event-stream';
const keyOf = async (role: Role, tenant = 'default') => (await service.makeKey(tenant, [role])).key;
const post = (key: string, body: unknown, session?: string) =>
  service.call('/mcp', {
    key,
    body,
    headers: { accept, ...(session === undefined ? {} : { 'mcp-session-id': session }) },
  });
const open = async (key: string) => (await post(key, initialize)).headers.get('mcp-session-id') ?? '';
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

describe('a session', () => {
  test('is the key that opened it alone; to all others it does not exist', async () => {
    const [own, same, other] = [await keyOf('worker'), await keyOf('worker'), await keyOf('worker', 'acme')];
    const session = await open(own);
    expect(await post(own, list, session)).toMatchObject({ status: 200 });
    const missing = await post(own, list, 'none');
    expect([missing.status, missing.body.error?.code]).toEqual([404, 'session_not_found']);
    for (const key of [same, other]) {
      const answer = await post(key, list, session);
      expect([answer.status, answer.text]).toEqual([404, missing.text]);
      for (const method of ['GET', 'DELETE']) {
        const foreign = await service.call('/mcp', {
          key,
          method,
          headers: { accept, 'mcp-session-id': session },
        });
        expect(foreign.status).toBe(404);
      }
    }
    expect((await post(own, list, session)).status).toBe(200);
  });

  test('ends when it is told to, and with its key', async () => {
    const { key, keyId } = await service.makeKey('default', ['worker']);
    const [first, second] = [await open(key), await open(key)];
    const headers = { accept, 'mcp-session-id': first };
    expect((await service.call('/mcp', { key, method: 'DELETE', headers })).status).toBe(200);
    expect((await post(key, list, first)).status).toBe(404);
    expect((await post(key, list, second)).status).toBe(200);
    const admin = await keyOf('admin');
    await service.call(`/keys/${keyId}`, { key: admin, method: 'DELETE' });
    expect((await post(key, list, second)).status).toBe(401);
  });

  test('makes room for a newer one when its key has too many', async () => {
    const key = await keyOf('worker');
    const sessions: string[] = [];
    for (let n = 0; n < 33; n += 1) sessions.push(await open(key));
    const [first = '', second = ''] = sessions;
    expect((await post(key, list, first)).status).toBe(404);
    expect((await post(key, list, second)).status).toBe(200);
  });

  test('begins with initialize, and takes messages of the protocol only', async () => {
    const key = await keyOf('worker');
    expect((await post(key, list)).body.error?.code).toBe('invalid_request');
    const session = await open(key);
    expect((await post(key, { some: 'thing' }, session)).status).toBe(400);
    expect((await post(key, JSON.parse('{"jsonrpc":"2.0","__proto__":{"a":1}}'), session)).status).toBe(400);
    expect((await service.call('/mcp', { key, body: initialize })).status).toBe(406);
    const wrong = await service.call('/mcp?tool_names=dashes', {
      key,
      body: initialize,
      headers: { accept },
    });
    expect(wrong.body.error?.code).toBe('invalid_request');
  });
});

describe('roles are those of the calls that do the same', () => {
  test.each(roles)('%s', async (role) => {
    const key = await keyOf(role);
    const mayList = role !== 'approver';
    const opened = await post(key, initialize);
    expect(opened.status).toBe(mayList ? 200 : 403);
    if (!mayList) return;
    const client = await connect('http', { url: service.url, key });
    try {
      expect((await client.listTools()).tools.length).toBeGreaterThan(5);
      const inputs = { document: 1, filter: '.' };
      const result = await client.callTool({ name: 'skill.json.query', arguments: inputs });
      const text = JSON.stringify(result.content);
      if (role === 'worker') expect(text).toContain('results');
      else expect([result.isError, text]).toEqual([true, expect.stringContaining('role_required')]);
    } finally {
      await client.close();
    }
  });

  test('what was refused is on record', async () => {
    const auditor = await keyOf('auditor');
    const { body } = await service.call('/audit/events?type=access_refused&limit=1000', { key: auditor });
    expect(JSON.stringify(body)).toContain('POST /skills/{skill_id}/invoke');
  });
});

test('another site is not answered (case 60)', async () => {
  const key = await keyOf('worker');
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept };
  for (const foreign of [{ host: 'evil.example' }, { origin: 'https://evil.example' }]) {
    for (const method of ['POST', 'GET', 'DELETE']) {
      const { status } = await rawRequest(`${service.url}/mcp`, {
        method,
        headers: { ...headers, ...foreign },
        send: (stream) => void stream.end(method === 'POST' ? JSON.stringify(initialize) : undefined),
      });
      expect([method, status]).toEqual([method, 403]);
    }
  }
});

test('a server that stops does not wait for those who follow', async () => {
  const stopping = await startRunningService();
  const client = await connect('http', { url: stopping.url, key: '' });
  await client.listTools();
  const begun = performance.now();
  await stopping.close();
  expect(performance.now() - begun).toBeLessThan(10_000);
  await client.close();
});
