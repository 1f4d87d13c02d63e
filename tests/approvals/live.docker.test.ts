import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { WebSocket, type ClientOptions } from 'ws';
import { webhookKey, webhookSignature, type ApprovalNews } from '@secbox/approvals';
import type { ApprovalSummary } from '@secbox/contracts';
import { startKeyedService, type KeyedService } from '../access/keyed-service.js';
import { everything, gateOf, shell, type Gate } from './gated-service.js';

const secret = 'a secret that both sides know';
let service: KeyedService;
let gate: Gate;
beforeAll(async () => {
  service = await startKeyedService({ SECBOX_WEBHOOK_SECRET: secret });
  gate = await gateOf(service);
});
afterAll(() => service.close());
beforeEach(async () => {
  expect((await gate.put({ approvals: everything })).status).toBe(200);
});

interface Message {
  readonly type: string;
  readonly id?: string;
  readonly approval?: ApprovalSummary;
  readonly approvals?: readonly ApprovalSummary[];
  readonly error?: { readonly code: string };
}

/** A line to the server, with what comes on it, in order. */
class Line {
  readonly socket: WebSocket;
  readonly #messages: Message[] = [];
  #changed: () => void = () => undefined;

  constructor(protocols: string[], options: ClientOptions) {
    this.socket = new WebSocket(`${gate.url.replace('http', 'ws')}/approvals/live`, protocols, options);
    this.socket.on('message', (data: Buffer) => {
      this.#messages.push(JSON.parse(data.toString()) as Message);
      this.#changed();
    });
  }

  /** The first of them that fits, which is then gone. */
  async next(fits: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const index = this.#messages.findIndex(fits);
      const [found] = index < 0 ? [] : this.#messages.splice(index, 1);
      if (found) return found;
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  send(message: unknown): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }
}

const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
const of = (type: string, execId?: string) => (message: Message) =>
  message.type === type && (execId === undefined || message.approval?.exec_id === execId);

async function open(protocols: string[], options: ClientOptions): Promise<Line> {
  const line = new Line(protocols, options);
  await once(line.socket, 'open');
  return line;
}

/** How a line that is not let in is answered. */
async function refused(protocols: string[], options: ClientOptions): Promise<number> {
  const { socket } = new Line(protocols, options);
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }];
  socket.on('error', () => undefined);
  socket.terminate();
  return response.statusCode;
}

describe('over a WebSocket', () => {
  test('an approver hears what waits, what comes and what became of it, and decides', async () => {
    const before = await gate.hold('true');
    const line = await open(['secbox.approvals.v1'], bearer(gate.keys.approver));
    expect(line.socket.protocol).toBe('secbox.approvals.v1');
    const { approvals } = await line.next(of('approvals.pending'));
    expect(approvals?.map(({ exec_id }) => exec_id)).toContain(before.exec_id);

    const held = await gate.hold('echo live');
    const { approval } = await line.next(of('approval.requested', held.exec_id));
    expect(approval).toMatchObject({ state: 'pending', plan_hash: held.plan_hash });
    const decide = { type: 'decide', approval_id: held.exec_id, decision: 'approve' };
    line.send({ ...decide, id: 'wrong', plan_hash: '0'.repeat(64) });
    expect((await line.next(({ id }) => id === 'wrong')).error?.code).toBe('approval_plan_mismatch');
    line.send({ ...decide, id: 'right', plan_hash: held.plan_hash });
    line.send({ ...decide, id: 'again', plan_hash: held.plan_hash });
    expect((await line.next(({ id }) => id === 'right')).approval).toMatchObject({
      state: 'approved',
      decided_by: gate.approverId,
    });
    expect((await line.next(({ id }) => id === 'again')).error?.code).toBe('approval_decided');
    await line.next(of('approval.settled', held.exec_id));
    expect(await gate.end(held.exec_id)).toMatchObject({ status: 'succeeded', stdout: 'live\n' });
    line.socket.terminate();
  });

  test('a page sends its key as a protocol, which is never said back', async () => {
    const line = await open(['secbox.approvals.v1', `secbox.key.${gate.keys.approver}`], {});
    expect(line.socket.protocol).toBe('secbox.approvals.v1');
    await line.next(of('approvals.pending'));
    line.socket.terminate();
    expect(service.log()).not.toContain(gate.keys.approver.slice(15));
  });

  test('an auditor sees and cannot decide; what is no message is told, and the line stays', async () => {
    const held = await gate.hold('true');
    const line = await open([], bearer(gate.keys.auditor));
    await line.next(of('approvals.pending'));
    const decide = { type: 'decide', approval_id: held.exec_id, plan_hash: held.plan_hash };
    for (const [message, code] of [
      [{ ...decide, decision: 'approve' }, 'role_required'],
      [{ ...decide, decision: 'perhaps' }, 'invalid_request'],
      [{ ...decide, decision: 'deny', more: 1 }, 'invalid_request'],
      ['{', 'malformed_json'],
      ['null', 'invalid_request'],
    ] as const) {
      line.send(message);
      expect((await line.next(of('error'))).error?.code).toBe(code);
    }
    expect((await gate.see(held.exec_id)).state).toBe('pending');
    line.send('x'.repeat(20_000));
    const [code] = (await once(line.socket, 'close')) as [number];
    expect(code).toBe(1009);
  });

  test('nobody is let in without a key that holds, a role, or from the page of another site (case 60)', async () => {
    expect(await refused([], {})).toBe(401);
    expect(await refused(['secbox.key.sbx_wrong'], {})).toBe(401);
    expect(await refused([], bearer(gate.keys.worker))).toBe(403);
    expect(await refused([], { ...bearer(gate.keys.approver), origin: 'https://evil.example' })).toBe(403);
    const headers = { ...bearer(gate.keys.approver).headers, host: 'evil.example' };
    expect(await refused([], { headers })).toBe(403);
    const own = await open([], { ...bearer(gate.keys.approver), origin: gate.url });
    own.socket.terminate();
    const elsewhere = new WebSocket(
      `${gate.url.replace('http', 'ws')}/sandbox/health`,
      bearer(gate.keys.worker),
    );
    elsewhere.on('error', () => undefined);
    const [, response] = (await once(elsewhere, 'unexpected-response')) as [unknown, { statusCode: number }];
    expect(response.statusCode).toBe(200);
    elsewhere.terminate();
  });

  test('each message counts as a request of its key', async () => {
    const { key } = await service.makeKey('rated', ['approver']);
    const quotas = { tenants: { rated: { requests_per_minute: 3 } } };
    expect((await gate.put({ approvals: everything, quotas })).status).toBe(200);
    // The first of them is the line itself.
    const line = await open([], bearer(key));
    const { exec_id: approval_id, plan_hash } = await gate.hold('true');
    const codes = [];
    for (const id of ['1', '2', '3']) {
      line.send({ type: 'decide', id, approval_id, plan_hash, decision: 'deny' });
      codes.push((await line.next((message) => message.id === id)).error?.code);
    }
    expect(codes).toEqual(['approval_not_found', 'approval_not_found', 'too_many_requests']);
    line.socket.terminate();
  });

  test('a key that was revoked decides nothing on a line that is still open', async () => {
    const { key, keyId } = await service.makeKey('default', ['approver']);
    const held = await gate.hold('true');
    const line = await open([], bearer(key));
    await line.next(of('approvals.pending'));
    await service.revokeKey(keyId);
    const { exec_id: approval_id, plan_hash } = held;
    line.send({ type: 'decide', id: 'late', approval_id, plan_hash, decision: 'approve' });
    // Told, or cut off when the line was looked at meanwhile.
    const answer = await Promise.race([
      line.next(({ id }) => id === 'late'),
      once(line.socket, 'close').then(() => undefined),
    ]);
    expect(answer?.error?.code ?? 'unauthenticated').toBe('unauthenticated');
    expect(answer?.type ?? 'error').toBe('error');
    expect((await gate.see(held.exec_id)).state).toBe('pending');
    line.socket.terminate();
  });

  test('another tenant hears nothing, and a line ends with its key', async () => {
    const { key, keyId } = await service.makeKey('acme', ['approver']);
    const line = await open([], bearer(key));
    expect((await line.next(of('approvals.pending'))).approvals).toEqual([]);
    await gate.hold('true');
    const heard: unknown[] = [];
    line.socket.on('message', (data) => heard.push(data));
    const closed = once(line.socket, 'close');
    await service.revokeKey(keyId);
    await closed;
    expect(heard).toEqual([]);
  });
});

describe('by webhook', () => {
  let receiver: Server;
  const received: { path: string; body: string; signature: string }[] = [];
  let changed: () => void = () => undefined;
  beforeAll(async () => {
    receiver = createServer((request, response) => {
      void text(request).then((body) => {
        const signature = String(request.headers['secbox-signature']);
        received.push({ path: request.url ?? '', body, signature });
        response.end();
        changed();
      });
    });
    receiver.listen(0, '127.0.0.1');
    await once(receiver, 'listening');
  });
  afterAll(() => {
    receiver.closeAllConnections();
    receiver.close();
  });

  const heard = async (count: number) => {
    while (received.length < count) {
      await new Promise<void>((resolve) => {
        changed = resolve;
      });
    }
    return received.splice(0);
  };
  const urlOf = (path: string) => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}${path}`;
  const newsOf = ({ body }: { readonly body: string }) => JSON.parse(body) as ApprovalNews;

  test('a server of one’s own hears of the request and of the decision, signed', async () => {
    const webhook_url = urlOf('/approvals');
    expect((await gate.put({ approvals: { ...everything, webhook_url } })).status).toBe(200);
    const held = await gate.hold('true');
    await gate.decide(held.exec_id, { decision: 'deny', reason: 'no' });
    const news = await heard(2);
    expect(
      news
        .map(newsOf)
        .map(({ type, approval }) => [type, approval.exec_id, approval.state])
        .sort(),
    ).toEqual([
      ['approval.requested', held.exec_id, 'pending'],
      ['approval.settled', held.exec_id, 'denied'],
    ]);
    for (const { body, signature } of news) {
      const [, seconds = '', hash] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature) ?? [];
      expect(hash).toBe(webhookSignature(secret, Number(seconds), body));
    }
  });

  test('one of a tenant hears of that tenant only, in place of the one of all', async () => {
    const tenants = { acme: { webhook_url: urlOf('/acme') }, quiet: { webhook_url: null } };
    const approvals = { ...everything, webhook_url: urlOf('/all'), tenants };
    expect((await gate.put({ approvals })).status).toBe(200);
    const body = { project_id: 'p', exec: shell('true') };
    for (const tenant of ['quiet', 'acme']) {
      const { key } = await service.makeKey(tenant, ['worker']);
      expect((await gate.call('/sandbox/execs', { key, body })).status).toBe(202);
    }
    await gate.hold('true');
    const all = await heard(2);
    for (const { path, body: sent, signature } of all) {
      const [, seconds = '', hash] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature) ?? [];
      const key = path === '/acme' ? webhookKey(secret, 'acme') : secret;
      expect(hash).toBe(webhookSignature(key, Number(seconds), sent));
    }
    const told = all.map((news) => [news.path, newsOf(news).approval.tenant]).sort();
    expect(told).toEqual([
      ['/acme', 'acme'],
      ['/all', 'default'],
    ]);
  });
});
