import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execIdPattern, type ApiKey, type SecurityEvent } from '@secbox/contracts';
import { routeAccess } from '@secbox/core-api';
import {
  callsTo,
  makeKey,
  startKeyedService,
  type Answer,
  type KeyedService,
} from '../access/keyed-service.js';
import { rawRequest } from '../access/raw-request.js';
import { startProcess } from '../lifecycle/server-process.js';

let service: KeyedService;
let admin: string;
let worker: string;
let foreign: string;
let foreignAdmin: string;
beforeAll(async () => {
  service = await startKeyedService();
  admin = (await service.makeKey('default', ['admin'])).key;
  worker = (await service.makeKey('default', ['worker', 'auditor'])).key;
  foreign = (await service.makeKey('acme', ['worker', 'auditor'])).key;
  foreignAdmin = (await service.makeKey('acme', ['admin'])).key;
});
afterAll(() => service.close());

const shell = (script: string) => ({ kind: 'shell', command: 'bash', args: ['-lc', script] });

async function events(key: string, query = ''): Promise<readonly SecurityEvent[]> {
  const { body } = await service.call(`/audit/events${query}`, { key });
  return body['events'] as SecurityEvent[];
}

/** All that a caller could tell two refusals apart by. */
function told({ status, text, headers }: Answer) {
  const { date: _, 'x-request-id': id, ...rest } = Object.fromEntries(headers);
  return { status, text, headers: rest, hasId: id !== undefined };
}

describe('keys', () => {
  test('case 53: missing, wrong, revoked and expired keys are answered with the same 401', async () => {
    const revoked = await service.makeKey('acme', ['worker']);
    expect((await service.call('/projects', { key: revoked.key })).status).toBe(200);
    await service.call(`/keys/${revoked.keyId}`, { key: foreignAdmin, method: 'DELETE' });
    const expiresAt = new Date(Date.now() + 4000).toISOString();
    const made = await service.call('/keys', {
      key: foreignAdmin,
      body: { roles: ['worker'], expires_at: expiresAt },
    });
    const expired = String(made.body['key']);
    expect((await service.call('/projects', { key: expired })).status).toBe(200);
    await sleep(Date.parse(expiresAt) - Date.now() + 5);

    const wrong = `${worker.slice(0, -1)}${worker.endsWith('A') ? 'B' : 'A'}`;
    const refused = [
      await service.call('/projects'),
      await service.call('/projects', { headers: { authorization: 'Basic dXNlcjpwYXNz' } }),
      await service.call('/projects', { headers: { 'x-api-key': wrong } }),
      ...(await Promise.all(
        ['x', wrong, revoked.key, expired, `${worker}x`, 'sbx_'].map((key) =>
          service.call('/projects', { key }),
        ),
      )),
    ];
    expect(told(refused[0] as Answer)).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Bearer realm="secbox"' },
    });
    for (const answer of refused) expect(told(answer)).toEqual(told(refused[0] as Answer));

    // The record tells them apart, for those whose keys they were.
    const inTenant = (await events(foreignAdmin, '?type=login_refused')).map(
      ({ details }) => details['reason'],
    );
    expect(inTenant.sort()).toEqual(['expired', 'revoked']);
    const all = await events(admin, '?scope=installation&type=login_refused');
    expect(new Set(all.map(({ details }) => details['reason']))).toEqual(
      new Set(['missing', 'unknown', 'revoked', 'expired']),
    );
    expect((await events(admin, '?type=login_refused')).length).toBe(0);
    // The same key as a header of its own.
    expect((await service.call('/projects', { headers: { 'x-api-key': worker } })).status).toBe(200);
  });

  test('case 67: a key is in no database, log, list, event or error', async () => {
    const made = await service.call('/keys', { key: admin, body: { roles: ['worker'], label: 'canary' } });
    const key = String(made.body['key']);
    const secret = key.slice(15);
    expect(made.headers.get('cache-control')).toBe('no-store');
    const seen = [
      (await service.call('/keys', { key: admin })).text,
      (await service.call('/keys', { key, body: { roles: ['admin'] } })).text,
      (await service.call(`/sandbox/execs?q=${key}`, { key })).text,
      (await service.call('/sandbox/execs', { key, body: { [key]: 1 }, headers: { 'idempotency-key': 'k' } }))
        .status,
      (await service.call('/audit/events?scope=installation', { key: admin })).text,
    ].join('\n');
    expect(seen).not.toContain(secret);
    await service.run(key, 'p', 'true');
    // The query of a URL and the headers are not logged.
    expect(service.log()).not.toContain(secret);
    expect(service.log()).toContain((made.body as unknown as ApiKey).key_id);
    for (const name of await readdir(service.dataDir)) {
      if (!name.startsWith('secbox.db')) continue;
      expect(await readFile(join(service.dataDir, name), 'latin1')).not.toContain(secret);
    }
  });

  test('case 55: a wrong role is a 403: a worker exports, an auditor runs, a worker makes itself an administrator', async () => {
    const only = async (role: 'worker' | 'auditor' | 'approver' | 'author') =>
      (await service.makeKey('acme', [role])).key;
    const exec = { project_id: 'p', exec: shell('true') };
    const auditor = await only('auditor');
    const refused = [
      await service.call('/sandbox/execs/export?format=jsonl', { key: await only('worker') }),
      await service.call('/sandbox/execs', { key: auditor, body: exec }),
      await service.call('/keys', { key: await only('worker'), body: { roles: ['admin'] } }),
      await service.call('/sandbox/execs', { key: await only('approver'), body: exec }),
      await service.call('/projects/p', { key: await only('author'), method: 'DELETE' }),
    ];
    for (const answer of refused) {
      expect([answer.status, answer.body.error?.code]).toEqual([403, 'role_required']);
    }
    // A role of one tenant is none for the whole.
    for (const path of [
      '/settings',
      '/metrics',
      '/audit/events?scope=installation',
      '/keys?tenant=default',
    ]) {
      const answer = await service.call(path, { key: foreignAdmin });
      expect([path, answer.status, answer.body.error?.code]).toEqual([path, 403, 'tenant_forbidden']);
    }
    const key = { tenant: 'default', roles: ['worker'] };
    expect((await service.call('/keys', { key: foreignAdmin, body: key })).status).toBe(403);
    // It is on record, by the key.
    const noted = (await events(foreignAdmin, '?type=access_refused')).map(
      ({ details }) => details['reason'],
    );
    expect(noted).toEqual(expect.arrayContaining(['GET /sandbox/execs/export', 'POST /keys']));
    // An auditor changes nothing, but sees all.
    expect((await service.call('/sandbox/execs/export?format=csv', { key: auditor })).status).toBe(200);
  });
});

describe('tenants', () => {
  test('case 54: an id of another tenant is answered as one that does not exist', async () => {
    const script = 'echo left > /workspace/artifacts/a; while [ ! -e go ]; do sleep 0.02; done';
    const inputs = [{ path: 'a', content: 'secret' }];
    const submitted = await service.call('/sandbox/execs', {
      key: worker,
      body: { project_id: 'mine', exec: shell(script), inputs },
      headers: { prefer: 'respond-async', 'idempotency-key': 'shared' },
    });
    const execId = String(submitted.body['exec_id']);
    const missing = randomUUID();
    const routes = Object.keys(routeAccess).filter((route) => route.includes('{exec_id}'));
    expect(routes.length).toBeGreaterThan(8);
    for (const route of routes) {
      const [method = '', path = ''] = route.split(' ');
      const ask = (id: string) =>
        service.call(path.replace('{exec_id}', id).replace('{path}', 'a'), { key: foreign, method });
      const [theirs, nobodys] = [await ask(execId), await ask(missing)];
      expect([route, theirs.status]).toEqual([route, 404]);
      expect(theirs.text.replaceAll(execId, missing)).toBe(nobodys.text);
    }
    // Neither seen nor ended by the other, nor met by its name for a request or its project.
    expect((await service.call(`/sandbox/execs/${execId}`, { key: worker })).body['status']).toMatch(
      /queued|running/,
    );
    const other = await service.call('/sandbox/execs', {
      key: foreign,
      body: { project_id: 'mine', exec: shell('ls -A /workspace/inputs /workspace/work; echo ran') },
      headers: { 'idempotency-key': 'shared' },
    });
    expect(other.body).toMatchObject({
      tenant: 'acme',
      stdout: '/workspace/inputs:\n\n/workspace/work:\nran\n',
    });
    await service.run(worker, 'mine', 'touch go');
    for (const [key, own] of [
      [worker, 'default'],
      [foreign, 'acme'],
    ] as const) {
      const list = await service.call('/sandbox/execs?limit=1000', { key });
      const tenants = (list.body['execs'] as { tenant: string }[]).map(({ tenant }) => tenant);
      expect(new Set(tenants)).toEqual(new Set([own]));
      const lines = (await service.call('/sandbox/execs/export?format=jsonl', { key })).text
        .trim()
        .split('\n');
      expect(new Set(lines.map((line) => (JSON.parse(line) as { tenant: string }).tenant))).toEqual(
        new Set([own]),
      );
    }
    // A cursor of one tenant is nothing to another.
    const cursor = String(
      (await service.call('/sandbox/execs?limit=1', { key: worker })).body['next_cursor'],
    );
    expect((await service.call(`/sandbox/execs?limit=1&cursor=${cursor}`, { key: worker })).status).toBe(200);
    expect((await service.call(`/sandbox/execs?limit=1&cursor=${cursor}`, { key: foreign })).status).toBe(
      400,
    );
  });

  test('case 62: ids of execs, keys and events are random: 122 bits each, and no two alike', async () => {
    const pattern = new RegExp(execIdPattern);
    const { exec_id: first } = await service.run(worker, 'ids', 'echo x > /workspace/artifacts/x');
    const { exec_id: second, artifacts } = await service.run(
      worker,
      'ids',
      'echo x > /workspace/artifacts/x',
    );
    const { body } = await service.call('/keys?limit=1000', { key: admin });
    const keys = (body['keys'] as ApiKey[]).map(({ key_id: id }) => id);
    const found = (await events(admin, '?scope=installation')).map(({ event_id: id }) => id);
    const ids = [first, second, ...keys, ...found];
    for (const id of ids) expect(id).toMatch(pattern);
    expect(new Set(ids).size).toBe(ids.length);
    expect(artifacts[0]?.url).toBe(`/sandbox/execs/${second}/artifacts/x`);
    expect((await service.call(`/sandbox/execs/${first.slice(0, 8)}`, { key: worker })).status).toBe(400);
  });
});

describe('on an open network', () => {
  test('case 61: without keys the server refuses to start on another address than a loopback one', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'secbox-open-'));
    const main = ['apps/core-api/dist/main.js'];
    const env = { SECBOX_DATA_DIR: dataDir, SECBOX_HOST: '0.0.0.0', SECBOX_LOG_FORMAT: 'json' };
    try {
      const refused = startProcess(process.execPath, main, { ...env, SECBOX_AUTH: 'off' });
      expect((await refused.ended).code).toBe(1);
      expect(refused.printed()).toMatch(
        /SECBOX_HOST="0\.0\.0\.0" is not a loopback address, and SECBOX_AUTH=off/,
      );
      expect(await readdir(dataDir)).toEqual([]);

      const server = startProcess(process.execPath, main, { ...env, SECBOX_DEV_KEY: 'on' });
      try {
        const [, port = ''] = await server.waitFor(/Secbox serves on http:\/\/0\.0\.0\.0:(\d+)/);
        await server.waitFor(/keys_travel_in_the_clear/);
        const url = `http://127.0.0.1:${port}`;
        expect((await callsTo(url)('/sandbox/health')).status).toBe(401);
        // No key that may do everything lies about on a machine that serves others.
        expect(await readdir(dataDir)).not.toContain('dev.key');
        const { key } = await makeKey(dataDir, 'default', ['worker']);
        const headers = { authorization: `Bearer ${key}` };
        const status = async (host: string) =>
          (await rawRequest(`${url}/projects`, { headers: { ...headers, host } })).status;
        expect([
          await status('192.0.2.7'),
          await status('[2001:db8::1]:80'),
          await status('evil.example'),
        ]).toEqual([200, 200, 403]);
      } finally {
        expect((await server.end('SIGTERM')).code).toBe(0);
      }
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});
