import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultTenant, parseTenantId, type ApprovalSummary } from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import { approvalsDatabase, type ApprovalsDatabase } from './testing/approvals-database.js';
import { newsOf, type WebhookDeliveries } from './webhook-deliveries.js';
import { Webhook, webhookKey, webhookSignature } from './webhook.js';

interface Received {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

let database: ApprovalsDatabase;
let server: Server;
let url: string;
let received: Received[];
/** What is answered, one after the other; 200 afterwards. */
let answers: number[];
let changed: () => void;
beforeEach(async () => {
  database = await approvalsDatabase();
  logged.length = 0;
  received = [];
  answers = [];
  changed = () => undefined;
  server = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ headers: request.headers, body });
      response.writeHead(answers.shift() ?? 200, { location: '/elsewhere' }).end();
      changed();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await database.remove();
});

const logged: string[] = [];
const logger = {
  warn: (name: string) => void logged.push(name),
  error: (name: string) => void logged.push(name),
} as unknown as Logger;

const secret = 'a secret of some length';
const webhookTo = (
  to: () => string | undefined,
  delaysMs = [1, 1, 1],
  now = () => new Date(),
  isOwn: (tenant: string) => boolean = () => false,
) => new Webhook({ url: to, isOwn, secret, deliveries: database.deliveries, logger, now, delaysMs });
const acme = parseTenantId('acme');

/** Tells of an exec that waits, as those who ask for approvals do. */
async function announce(
  webhook: Webhook,
  tenant = defaultTenant,
): Promise<{ approval: ApprovalSummary; delivery: string }> {
  const delivery = webhook.newDelivery(tenant) ?? '';
  const approval = await database.hold(delivery, new Date(), tenant);
  webhook.announce({ type: 'approval.requested', approval }, delivery);
  return { approval, delivery };
}

const left = async () => (await database.deliveries.pending(10)).map(({ delivery }) => delivery);

async function until(count: number): Promise<void> {
  while (received.length < count) {
    await new Promise<void>((resolve) => {
      changed = resolve;
    });
  }
}

test('sends what happened, signed with the moment', async () => {
  const now = new Date('2024-05-01T10:00:00.000Z');
  const webhook = webhookTo(
    () => url,
    [],
    () => now,
  );
  const { approval, delivery } = await announce(webhook);
  await until(1);
  const [{ headers, body } = { headers: {}, body: '' }] = received;
  expect(JSON.parse(body)).toEqual({ delivery, type: 'approval.requested', approval });
  expect(headers['secbox-delivery']).toBe(delivery);
  const seconds = now.getTime() / 1000;
  expect(headers['secbox-signature']).toBe(`t=${seconds},v1=${webhookSignature(secret, seconds, body)}`);
  expect(webhookSignature(secret, seconds + 1, body)).not.toBe(webhookSignature(secret, seconds, body));
  while ((await left()).length > 0) await sleep(5);
  await webhook.close();
});

test('an address of a tenant’s own is signed for under a key that holds for no other tenant', async () => {
  const now = new Date('2024-05-01T10:00:00.000Z');
  const seconds = now.getTime() / 1000;
  const webhook = webhookTo(
    () => url,
    [],
    () => now,
    (tenant) => tenant === 'default',
  );
  await announce(webhook);
  await until(1);
  const [{ headers, body } = { headers: {}, body: '' }] = received;
  const signedUnder = (key: string) => `t=${seconds},v1=${webhookSignature(key, seconds, body)}`;
  expect(headers['secbox-signature']).toBe(signedUnder(webhookKey(secret, 'default')));
  for (const key of [secret, webhookKey(secret, 'acme')])
    expect(headers['secbox-signature']).not.toBe(signedUnder(key));
  while ((await left()).length > 0) await sleep(5);
  await webhook.close();
});

test('the key of a tenant is the one that the documentation has whoever receives compute', () => {
  // printf %s 'secbox-webhook:acme' | openssl dgst -sha256 -hmac "$SECBOX_WEBHOOK_SECRET"
  expect(webhookKey('a secret of some length', 'acme')).toBe(
    '7f41c6cd720e88ccea9eb027571632d6b7411573431764cb0a295da793efa0cb',
  );
});

test('is tried again until it is taken, under one name; a redirection is not followed', async () => {
  answers = [500, 302, 404];
  const webhook = webhookTo(() => url);
  await announce(webhook);
  await until(4);
  expect(new Set(received.map(({ headers }) => headers['secbox-delivery'])).size).toBe(1);
  expect(new Set(received.map(({ body }) => body)).size).toBe(1);
  while ((await left()).length > 0) await sleep(5);
  await webhook.close();
});

test('gives up after its last try, and says so', async () => {
  answers = [500, 500, 500, 500];
  const webhook = webhookTo(() => url);
  await announce(webhook);
  await until(4);
  while ((await left()).length > 0) await sleep(5);
  expect(logged).toContain('webhook.given_up');
  expect(received).toHaveLength(4);
  await webhook.close();
});

test('has no name for what nobody is to be told', async () => {
  const nowhere = webhookTo(() => undefined);
  expect(nowhere.newDelivery('default')).toBeUndefined();
  nowhere.announce({ type: 'approval.requested', approval: await database.hold('of another server') });
  await nowhere.resume();
  await nowhere.close();
  expect(received).toEqual([]);
  expect(await left()).toEqual(['of another server']);
});

test('what was not taken when the server ended is told by the next one, and as it was then', async () => {
  answers = [500];
  const first = webhookTo(() => url, [600_000]);
  const { approval, delivery } = await announce(first);
  await until(1);
  while ((await database.deliveries.pending(1))[0]?.tries !== 1) await sleep(5);
  await first.close();
  expect(received).toHaveLength(1);
  const second = webhookTo(() => url, [1, 1]);
  await second.resume();
  await until(2);
  expect(received.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
    { delivery, type: 'approval.requested', approval },
    { delivery, type: 'approval.requested', approval },
  ]);
  while ((await left()).length > 0) await sleep(5);
  await second.close();
});

test('the tries of both servers count together; what is older than a day is given up', async () => {
  answers = [500, 500];
  await database.hold('tried', new Date());
  await database.deliveries.postpone('tried', 2, new Date().toISOString());
  await database.hold('old', new Date(Date.now() - 25 * 3_600_000));
  const webhook = webhookTo(() => url, [1, 1]);
  await webhook.resume();
  while ((await left()).length > 0) await sleep(5);
  await webhook.close();
  expect(received.map(({ headers }) => headers['secbox-delivery'])).toEqual(['tried']);
  expect(logged).toEqual(['webhook.given_up_old', 'webhook.given_up']);
});

describe('a tenant whose receiver is gone', () => {
  /** Nothing is told to the tenant `default` before `isBack`; of each tenant two are under way at most. */
  const crowded = (isBack: () => boolean, deliveries: WebhookDeliveries = database.deliveries) =>
    new Webhook({
      url: (tenant) => (tenant === acme || isBack() ? url : 'http://127.0.0.1:1/'),
      isOwn: () => false,
      secret,
      deliveries,
      logger,
      now: () => new Date(),
      delaysMs: Array.from({ length: 1000 }, () => 5),
      mostUnderway: 2,
    });
  const told = () => received.map(({ headers }) => headers['secbox-delivery']);

  test('keeps nobody else from hearing, and hears of everything when it is back', async () => {
    let isBack = false;
    const webhook = crowded(() => isBack);
    const waiting = [];
    for (let n = 0; n < 7; n += 1) waiting.push((await announce(webhook)).delivery);
    const { delivery } = await announce(webhook, acme);
    await until(1);
    expect(told()).toEqual([delivery]);
    isBack = true;
    while ((await left()).length > 0) await sleep(5);
    expect(new Set(told())).toEqual(new Set([delivery, ...waiting]));
    await webhook.close();
  });

  test('is not in the way of others at the next start, and a database that fails once delays it', async () => {
    let [resumed, isBack, failures] = [false, false, 1];
    const failing: WebhookDeliveries = {
      tenants: () => database.deliveries.tenants(),
      pending: (limit, tenant) => database.deliveries.pending(limit, tenant),
      postpone: (...to) => database.deliveries.postpone(...to),
      remove: (delivery) => database.deliveries.remove(delivery),
      dropOlder: async (before) => {
        if (resumed && failures-- > 0) throw new Error('the disk is full');
        return database.deliveries.dropOlder(before);
      },
    };
    const names = ['1', '2', '3', '4', '5'];
    for (const name of names) await database.hold(name);
    await database.hold('of acme', new Date(), acme);
    const webhook = crowded(() => isBack, failing);
    await webhook.resume();
    resumed = true;
    await until(1);
    expect(told()).toEqual(['of acme']);
    isBack = true;
    while ((await left()).length > 0) await sleep(5);
    expect(new Set(told())).toEqual(new Set(['of acme', ...names]));
    expect(logged).toContain('webhook.not_read');
    await webhook.close();
  });
});

test('a request that was decided meanwhile is told as it was', () => {
  const decided = { state: 'denied', decided_by: 'k', decision_reason: 'no' } as ApprovalSummary;
  expect(newsOf({ type: 'approval.requested', approval: decided }).approval).toMatchObject({
    state: 'pending',
    decided_by: null,
    decision_reason: null,
  });
  expect(newsOf({ type: 'approval.settled', approval: decided }).approval).toBe(decided);
});
