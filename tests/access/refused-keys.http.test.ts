import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SecurityEvent } from '@secbox/contracts';
import { startKeyedService, type KeyedService } from './keyed-service.js';
import { openConnection } from './raw-connection.js';

let service: KeyedService;
let admin: string;
let worker: string;
beforeAll(async () => {
  // So that one machine can ask from many addresses.
  service = await startKeyedService({ SECBOX_POOL_SIZE: '0', SECBOX_TRUST_PROXY: 'loopback' });
  admin = (await service.makeKey('default', ['admin'])).key;
  worker = (await service.makeKey('default', ['worker'])).key;
});
afterAll(() => service.close());

const from = (address: string) => ({ 'x-forwarded-for': address });
const wrongKey = () => `sbx_${randomBytes(5).toString('hex')}_${randomBytes(32).toString('base64url')}`;

async function refusalsFrom(address: string): Promise<SecurityEvent[]> {
  const { body } = await service.call('/audit/events?scope=installation&type=login_refused&limit=1000', {
    key: admin,
  });
  return (body['events'] as SecurityEvent[]).filter((event) => event.address === address);
}

test('cases 53, 59: keys that are tried without end are a 429 with Retry-After, few rows, and nobody else is kept out', async () => {
  const headers = from('203.0.113.1');
  expect((await service.call('/projects', { key: worker, headers })).status).toBe(200);
  const tried = 400;
  const begun = performance.now();
  const answers = await Promise.all(
    Array.from({ length: tried }, (_, n) =>
      service.call('/projects', n % 2 === 0 ? { key: wrongKey(), headers } : { headers }),
    ),
  );
  const seconds = Math.ceil((performance.now() - begun) / 1000);
  const refused = answers.filter(({ status }) => status === 401);
  const late = answers.filter(({ status }) => status === 429);
  expect(refused.length + late.length).toBe(tried);
  // 60 at once, and one a second after that.
  expect(refused.length).toBeGreaterThanOrEqual(60);
  expect(refused.length).toBeLessThanOrEqual(60 + seconds);
  for (const answer of late) {
    expect(answer.body.error?.code).toBe('too_many_requests');
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(answer.headers.get('ratelimit-limit')).toBeNull();
  }

  // A key that has held is let in from there all the same, and so is whoever comes from elsewhere.
  expect((await service.call('/projects', { key: worker, headers })).status).toBe(200);
  expect((await service.call('/projects', { key: wrongKey(), headers: from('203.0.113.2') })).status).toBe(
    401,
  );

  const events = await refusalsFrom('203.0.113.1');
  expect(events.reduce((sum, { count }) => sum + count, 0)).toBe(tried);
  expect(new Set(events.map(({ details }) => details['reason']))).toEqual(
    new Set(['missing', 'unknown', 'too many tries']),
  );
  // Three, or twice as many when a minute ended between them.
  expect(events.length).toBeLessThanOrEqual(6);
});

test('case 59: whoever has many addresses of one network has one rate, and fills no table', async () => {
  const statuses: number[] = [];
  for (let n = 0; n < 100; n += 1) {
    const { status } = await service.call('/projects', { headers: from(`2001:db8:0:1::${n.toString(16)}`) });
    statuses.push(status);
  }
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
  expect((await service.call('/projects', { headers: from('2001:db8:0:2::1') })).status).toBe(401);
  const { body } = await service.call('/audit/events?scope=installation&type=login_refused&limit=1000', {
    key: admin,
  });
  const events = body['events'] as SecurityEvent[];
  // 32 a minute, and one for all others, of two minutes at most; 102 addresses have asked by now.
  expect(events.length).toBeLessThanOrEqual(2 * 33);
});

test('case 53: an answer does not outlive its key: revoked by a call or a command, or expired, a stream is cut off', async () => {
  const body = {
    project_id: 'followed',
    exec: { kind: 'shell', command: 'bash', args: ['-lc', 'while [ ! -e go ]; do sleep 0.05; done'] },
  };
  const submitted = await service.call('/sandbox/execs', {
    key: worker,
    body,
    headers: { prefer: 'respond-async' },
  });
  const execId = String(submitted.body['exec_id']);
  const byCall = await service.makeKey('default', ['worker']);
  const byCommand = await service.makeKey('default', ['worker']);
  const expires_at = new Date(Date.now() + 5000).toISOString();
  const expiring = await service.call('/keys', { key: admin, body: { roles: ['worker'], expires_at } });
  const follow = async (key: string) => {
    const connection = await openConnection(service.url);
    connection.socket.write(
      `GET /sandbox/execs/${execId}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    );
    await connection.until(/event: state/);
    return connection;
  };
  const streams = [
    await follow(byCall.key),
    await follow(byCommand.key),
    await follow(String(expiring.body['key'])),
  ];
  const kept = await follow(worker);
  try {
    await service.call(`/keys/${byCall.keyId}`, { key: admin, method: 'DELETE' });
    await service.revokeKey(byCommand.keyId);
    for (const { closed } of streams) expect(await closed).not.toMatch(/succeeded|canceled/);
    // The others, and the exec itself, go on.
    await sleep(10);
    expect(kept.socket.destroyed).toBe(false);
    await service.run(worker, 'followed', 'touch go');
    await kept.until(/succeeded/);
    const { body: page } = await service.call('/audit/events?type=login_refused', { key: admin });
    const reasons = (page['events'] as SecurityEvent[]).map(({ details }) => details['reason']);
    expect(reasons.sort()).toEqual(['expired', 'revoked', 'revoked']);
  } finally {
    for (const { end } of [...streams, kept]) end();
    await service.call(`/sandbox/execs/${execId}/cancel`, { key: worker, method: 'POST' });
  }
});
