import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keyCommand } from '@secbox/core-api';
import type { SecurityEvent } from '@secbox/contracts';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { callsTo, makeKey, startKeyedService } from './keyed-service.js';
import { selfSigned } from './self-signed.js';

let folder: string;
let service: RunningService | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-operating-'));
  service = undefined;
});
afterEach(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function command(...args: string[]): Promise<{ results: string[]; notes: string[] }> {
  const results: string[] = [];
  const notes: string[] = [];
  const output = { result: (line: string) => results.push(line), note: (line: string) => notes.push(line) };
  await keyCommand(['--data-dir', folder, ...args], output);
  return { results, notes };
}

describe('the key command', () => {
  test('makes, lists and revokes keys on a folder that no server has had, and on one that a server has', async () => {
    const first = await command('--role', 'admin', '--label', 'first');
    expect(first.results).toEqual([expect.stringMatching(/^sbx_[0-9a-f]{10}_[\w-]{43}$/)]);
    expect(first.notes.join()).not.toContain(first.results[0]?.slice(15));
    service = await startRunningService({ SECBOX_AUTH: 'keys' }, folder);
    const call = callsTo(service.url);
    expect((await call('/settings', { key: first.results[0] ?? '' })).status).toBe(200);

    const { key, keyId } = await makeKey(
      folder,
      'acme',
      ['worker', 'auditor'],
      ['--days', '30', '--user-pattern', 'u*'],
    );
    expect((await call('/projects', { key })).status).toBe(200);
    const { results: listed } = await command('--list', '--tenant', 'acme');
    expect(listed).toEqual([
      expect.stringMatching(new RegExp(`^${keyId}  sbx_\\w+  acme  worker,auditor  until `)),
    ]);
    await command('--revoke', keyId);
    expect((await call('/projects', { key })).status).toBe(401);
    expect((await command('--list', '--tenant', 'acme')).results.join()).toContain('revoked');

    const { body } = await call('/audit/events?scope=installation', { key: first.results[0] ?? '' });
    const acts = (body['events'] as SecurityEvent[]).map(({ type, actor, tenant }) => [type, actor, tenant]);
    expect(acts.filter(([type]) => type !== 'login_refused')).toEqual([
      ['key_revoked', 'npm run key', 'acme'],
      ['key_created', 'npm run key', 'acme'],
      ['key_created', 'npm run key', 'default'],
    ]);
  });

  test.each([
    [['--role', 'king'], /must be one of/],
    [['--role', 'worker', '--tenant', '../x'], /tenant must begin/],
    [['--role', 'worker', '--days', '0'], /--days/],
    [['--role', 'worker', '--user-pattern', 'a/b'], /user_patterns/],
    [['--role', 'worker', '--list'], /Give --role/],
    [[], /Give --role/],
    [['--rolle', 'worker'], /--rolle/],
    [['--revoke', 'x'], /key_id/],
    [['--revoke', '5f0c6f0e-3b0a-4d3e-9a55-0d6f6f1f2a11'], /There is no key/],
  ])('%j is refused', async (args, why) => {
    await expect(command(...args)).rejects.toMatchObject({ message: expect.stringMatching(why) });
  });
});

describe('the development key', () => {
  const start = () => startRunningService({ SECBOX_AUTH: 'keys', SECBOX_DEV_KEY: 'on' }, folder);
  const kept = async () => (await readFile(join(folder, 'dev.key'), 'utf8')).trim();
  const statusOf = async (key: string) => (await callsTo(service?.url ?? '')('/settings', { key })).status;

  test('is made once, for its owner only; one that was revoked is not made anew', async () => {
    service = await start();
    const key = await kept();
    expect((await stat(join(folder, 'dev.key'))).mode & 0o777).toBe(0o600);
    expect(await statusOf(key)).toBe(200);
    await service.stop();

    service = await start();
    expect(await kept()).toBe(key);
    const keyId = (await command('--list')).results[0]?.slice(0, 36) ?? '';
    await command('--revoke', keyId);
    await service.stop();

    service = await start();
    expect(await kept()).toBe(key);
    expect(await statusOf(key)).toBe(401);
    await service.stop();

    await rm(join(folder, 'dev.key'));
    service = await start();
    expect(await statusOf(await kept())).toBe(200);
  });
});

describe('TLS', () => {
  test('is spoken with the certificate of two files, and said so to browsers', async () => {
    const { cert, key: certKey } = selfSigned();
    const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    await writeFile(certFile, cert);
    await writeFile(keyFile, certKey);
    service = await startRunningService(
      { SECBOX_AUTH: 'keys', SECBOX_TLS_CERT: certFile, SECBOX_TLS_KEY: keyFile },
      folder,
    );
    expect(service.url).toMatch(/^https:/);
    const { key } = await makeKey(folder, 'default', ['worker']);
    const answer = await new Promise<{ status: number; headers: object }>((resolve, reject) => {
      const url = new URL('/projects', service?.url);
      request(
        {
          host: '127.0.0.1',
          servername: 'localhost',
          port: url.port,
          path: '/projects',
          ca: cert,
          headers: { host: 'localhost', authorization: `Bearer ${key}` },
        },
        (response) => {
          response.resume();
          resolve({ status: response.statusCode ?? 0, headers: response.headers });
        },
      )
        .on('error', reject)
        .end();
    });
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({
      'strict-transport-security': expect.stringContaining('max-age='),
    });
  });

  test('files that are missing or no certificate are told before anything is served', async () => {
    const file = join(folder, 'nonsense.pem');
    await writeFile(file, 'nonsense');
    const start = (cert: string) =>
      startRunningService({ SECBOX_AUTH: 'keys', SECBOX_TLS_CERT: cert, SECBOX_TLS_KEY: file }, folder);
    await expect(start(join(folder, 'missing.pem'))).rejects.toMatchObject({
      message: expect.stringMatching(/SECBOX_TLS_CERT: .*ENOENT/),
    });
    await expect(start(file)).rejects.toMatchObject({ message: expect.stringContaining('cannot be used') });
  });
});

describe('answers', () => {
  test('carry an id that the log has too, with the key and tenant, and the headers that keep browsers out', async () => {
    service = await startRunningService({ SECBOX_AUTH: 'keys' }, folder);
    const { key, keyId } = await makeKey(folder, 'acme', ['worker']);
    const { headers } = await callsTo(service.url)('/projects', { key });
    const line = service
      .log()
      .split('\n')
      .find((text) => text.includes(headers.get('x-request-id') ?? 'none'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({
      event: 'http.request',
      path: '/projects',
      status: 200,
      actor: keyId,
      tenant: 'acme',
    });
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-security-policy': "default-src 'none';frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'SAMEORIGIN',
      'referrer-policy': 'no-referrer',
    });
    expect(headers.get('x-powered-by')).toBeNull();
    expect(headers.get('strict-transport-security')).toBeNull();
  });

  test.each([
    ['off', '127.0.0.1'],
    ['1', '203.0.113.9'],
    ['loopback', '203.0.113.9'],
    ['10.0.0.0/8', '127.0.0.1'],
  ])(
    'what a proxy says of the address is believed as SECBOX_TRUST_PROXY says: %s',
    async (trust, address) => {
      const keyed = await startKeyedService({ SECBOX_TRUST_PROXY: trust });
      try {
        await keyed.call('/projects', { headers: { 'x-forwarded-for': '198.51.100.1, 203.0.113.9' } });
        const { key } = await keyed.makeKey('default', ['admin']);
        const { body } = await keyed.call('/audit/events?scope=installation&type=login_refused', { key });
        expect(body['events']).toMatchObject([{ address, count: 1 }]);
      } finally {
        await keyed.close();
      }
    },
  );
});

test('an event says who changed the Settings, from where, and which version came of it', async () => {
  const keyed = await startKeyedService();
  try {
    const { key, keyId } = await keyed.makeKey('default', ['admin']);
    const put = (version: number, pids: number) =>
      keyed.call('/settings', {
        key,
        method: 'PUT',
        body: { policy: { values: { pids } } },
        headers: { 'if-match': `"${version}"` },
      });
    expect((await put(0, 10)).status).toBe(200);
    expect((await put(0, 11)).status).toBe(412);
    expect((await put(1, 12)).status).toBe(200);
    const path = '/audit/events?scope=installation&type=settings_changed';
    const { events } = (await keyed.call(path, { key })).body as { events?: SecurityEvent[] };
    const address = '127.0.0.1';
    expect(events).toMatchObject([
      { actor: keyId, address, tenant: null, subject: '2', details: { version: 2 } },
      { actor: keyId, address, tenant: null, subject: '1', details: { version: 1 } },
    ]);
    const { versions } = (await keyed.call('/settings/history', { key })).body as {
      versions?: { version: number; created_at: string }[];
    };
    expect(versions?.map(({ version, created_at }) => [version, created_at])).toEqual(
      events?.map(({ details, at }) => [details['version'], at]),
    );
  } finally {
    await keyed.close();
  }
});

test('how the server is, everyone is told; where its files lie, an administrator of the installation', async () => {
  const keyed = await startKeyedService();
  try {
    for (const [tenant, role, seesAll] of [
      ['default', 'admin', true],
      ['default', 'worker', false],
      ['acme', 'admin', false],
    ] as const) {
      const { key } = await keyed.makeKey(tenant, [role]);
      const { status, text, body } = await keyed.call('/sandbox/health', { key });
      expect([status, body['status'], text.includes(keyed.dataDir)]).toEqual([200, 'ok', seesAll]);
      expect(body['account']).toMatchObject({ unaccounted_total: 0, unaccounted: [] });
    }
  } finally {
    await keyed.close();
  }
});

test('figures: execs by status, waits, load, calls of engine and database, the event loop', async () => {
  const keyed = await startKeyedService();
  try {
    const { key: worker } = await keyed.makeKey('default', ['worker']);
    const { key: admin } = await keyed.makeKey('default', ['admin']);
    await keyed.run(worker, 'p', 'true');
    await keyed.run(worker, 'p', 'exit 3');
    const tooMuch = {
      project_id: 'p',
      exec: { kind: 'shell', command: 'bash', args: ['-lc', 'true'] },
      policy_overrides: { pids: 99_999 },
    };
    expect((await keyed.call('/sandbox/execs', { key: worker, body: tooMuch })).status).toBe(403);
    const { status, text, headers } = await keyed.call('/metrics', { key: admin });
    expect([status, headers.get('content-type')]).toEqual([200, expect.stringContaining('text/plain')]);
    const value = (series: string) =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${series} `))
          ?.split(' ')[1],
      );
    /** Of both start modes together. */
    const started = (series: string) =>
      ['cold', 'warm'].reduce((sum, mode) => sum + (value(`${series}"${mode}"}`) || 0), 0);
    expect({
      succeeded: started('secbox_execs_total{status="succeeded",start_mode='),
      failed: started('secbox_execs_total{status="failed",start_mode='),
      rejected: value('secbox_execs_total{status="rejected",start_mode="none"}'),
      durations: started('secbox_exec_duration_seconds_count{start_mode='),
      waits: value('secbox_exec_queue_seconds_count'),
      queued: value('secbox_execs_queued'),
      running: value('secbox_execs_running'),
      unaccounted: value('secbox_unaccounted_containers'),
      strays: value('secbox_strays{kind="containers"}'),
      inserts: ['insert', 'insertRunning']
        .map((call) => value(`secbox_database_seconds_count{store="execs",call="${call}"}`))
        .filter((count) => !Number.isNaN(count))
        .reduce((sum, count) => sum + count, 0),
    }).toEqual({
      succeeded: 1,
      failed: 1,
      rejected: 1,
      durations: 2,
      waits: 2,
      queued: 0,
      running: 0,
      unaccounted: 0,
      strays: 0,
      inserts: 3,
    });
    expect(value('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThanOrEqual(0);
    expect(value('secbox_engine_seconds_count{call="create"}')).toBeGreaterThanOrEqual(2);
    for (const name of ['secbox_engine_errors_total', 'secbox_database_errors_total']) {
      expect(text).toContain(`# TYPE ${name} counter`);
    }
    for (const name of ['on', 'waiting', 'starting', 'taken', 'missed']) {
      expect([name, value(`secbox_pool_${name}`)]).toEqual([name, expect.any(Number)]);
      expect(value(`secbox_pool_${name}`)).not.toBeNaN();
    }
    // No id of a caller is a label.
    expect(text).not.toContain('"p"');
  } finally {
    await keyed.close();
  }
});
