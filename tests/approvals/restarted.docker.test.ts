import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { ApprovalNews } from '@secbox/approvals';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { startServer } from '../lifecycle/server-process.js';
import { everything, gateOf, shell } from './gated-service.js';

type Told = ApprovalNews & { readonly delivery: string };

let receiver: Server;
let webhook_url: string;
let takes = false;
const received: { readonly taken: boolean; readonly told: Told }[] = [];
beforeAll(async () => {
  receiver = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ taken: takes, told: JSON.parse(body) as Told });
      response.writeHead(takes ? 204 : 503).end();
    });
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  webhook_url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
});
afterAll(() => {
  receiver.closeAllConnections();
  receiver.close();
});
let service: RunningService | undefined;
afterEach(() => service?.close());

const namesOf = (taken: boolean) =>
  [
    ...new Set(
      received.filter((one) => one.taken === taken).map(({ told }) => `${told.type} ${told.delivery}`),
    ),
  ].sort();

test('news that nobody took are told by the next server, under the same names, and then no more', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'secbox-'));
  const environment = { SECBOX_AUTH: 'keys', SECBOX_WEBHOOK_SECRET: 'a secret that both sides know' };
  service = await startRunningService(environment, folder);
  const gate = await gateOf(service);
  expect((await gate.put({ approvals: { ...everything, webhook_url } })).status).toBe(200);
  const { exec_id: id } = await gate.hold('true');
  await gate.decide(id, { decision: 'deny' });
  while (namesOf(false).length < 2) await sleep(10);
  await service.stop();

  takes = true;
  service = await startRunningService(environment, folder);
  while (namesOf(true).length < 2) await sleep(10);
  expect(namesOf(true)).toEqual(namesOf(false));
  const states = received.filter(({ taken }) => taken).map(({ told }) => [told.type, told.approval.state]);
  expect(states.sort()).toEqual([
    ['approval.requested', 'pending'],
    ['approval.settled', 'denied'],
  ]);
  await service.stop();

  service = await startRunningService(environment, folder);
  const again = await gateOf(service);
  const { exec_id: other } = await again.hold('true');
  while (!received.some(({ told }) => told.approval.exec_id === other)) await sleep(10);
  expect(received.filter(({ taken, told }) => taken && told.approval.exec_id === id)).toHaveLength(2);
});

test('execs that were denied, had no answer in time or were cancelled are counted with all others', async () => {
  service = await startRunningService({ SECBOX_AUTH: 'keys' });
  const gate = await gateOf(service);
  await gate.put({ approvals: everything });
  const { exec_id: denied } = await gate.hold('true');
  const { exec_id: cancelled } = await gate.hold('true');
  await gate.decide(denied, { decision: 'deny' });
  await gate.call(`/sandbox/execs/${cancelled}/cancel`, { key: gate.keys.worker, method: 'POST' });
  await gate.put({ approvals: { ...everything, expires_after_seconds: 1 } });
  const { exec_id: expired } = await gate.hold('true');
  expect(await gate.end(expired)).toMatchObject({ status: 'rejected' });
  await gate.put({});
  const body = { project_id: 'p', exec: shell('true') };
  await gate.call('/sandbox/execs', { key: gate.keys.worker, body });
  const { text: metrics } = await gate.call('/metrics', { key: gate.keys.admin });
  const count = (labels: string) =>
    [...metrics.matchAll(new RegExp(`^secbox_execs_total\\{${labels}[^}]*\\} (\\d+)$`, 'gm'))].reduce(
      (sum, [, value]) => sum + Number(value),
      0,
    );
  expect(count('status="rejected",start_mode="none"')).toBe(2);
  expect(count('status="cancelled",start_mode="none"')).toBe(1);
  expect(count('status="succeeded"')).toBe(1);
});

test('case 74: what was to run is lost, decided or not: the word is void, and whoever asked is told', async () => {
  takes = true;
  const folder = await mkdtemp(join(tmpdir(), 'secbox-'));
  const environment = { SECBOX_AUTH: 'keys', SECBOX_WEBHOOK_SECRET: 'a secret that both sides know' };
  service = await startRunningService(environment, folder);
  const gate = await gateOf(service);
  await gate.put({ approvals: { ...everything, webhook_url } });
  const ids = [(await gate.hold('true')).exec_id, (await gate.hold('true')).exec_id];
  await service.stop();
  const database = new Sqlite(join(folder, 'secbox.db'));
  // As a server leaves it that is killed between the word and the start.
  database.prepare("update approvals set state = 'approved' where exec_id = ?").run(ids[1]);
  database.prepare("update sandbox_execs set status = 'queued' where exec_id = ?").run(ids[1]);
  database.close();
  for (const id of ids) await rm(join(folder, 'workspace/spool', id), { recursive: true });

  service = await startRunningService(environment, folder);
  const again = await gateOf(service);
  for (const id of ids) {
    expect((await again.end(id)).status).toBe('error');
    expect((await again.see(id)).state).toBe('void');
    const told = () =>
      received.filter(({ told }) => told.approval.exec_id === id && told.type === 'approval.settled');
    while (told().length === 0) await sleep(10);
    expect(told().map(({ told: { approval } }) => approval.state)).toEqual(['void']);
  }
});

test('case 74: killed between the word and the start: the next server runs it, once, if its inputs are still those', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'secbox-'));
  const environment = { SECBOX_AUTH: 'keys', SECBOX_DATA_DIR: folder };
  let server = await startServer(environment);
  try {
    const before = await gateOf({ url: server.url, dataDir: folder });
    const script = 'cat /workspace/inputs/a >> /workspace/work/ran; cat /workspace/work/ran';
    const projects = ['kept', 'changed'];
    const ids = [];
    for (const project_id of projects) {
      await before.put({});
      const inputs = [{ path: 'a', content: 'as it was\n' }];
      // What runs keeps the project from whoever is approved.
      const body = { project_id, exec: shell('sleep 60'), inputs };
      const headers = { prefer: 'respond-async' };
      const running = await before.call('/sandbox/execs', { key: before.keys.worker, body, headers });
      const path = `/sandbox/execs/${String(running.body['exec_id'])}`;
      while ((await before.call(path, { key: before.keys.worker })).body['status'] !== 'running')
        await sleep(20);
      await before.put({ approvals: everything });
      const { exec_id: id } = await before.hold(script, { project_id });
      expect((await before.decide(id, { decision: 'approve' })).status).toBe(200);
      const { body: exec } = await before.call(`/sandbox/execs/${id}`, { key: before.keys.worker });
      expect([exec['status'], exec['started_at']]).toEqual(['queued', null]);
      ids.push(id);
    }
    await server.end('SIGKILL');
    const input = join(folder, 'workspace/projects/changed/inputs/a');
    // Not in place: what both projects brought is one content.
    await rm(input);
    await writeFile(input, 'as it was not\n');

    server = await startServer(environment);
    const after = await gateOf({ url: server.url, dataDir: folder });
    const [kept = '', changed = ''] = ids;
    expect(await after.end(kept)).toMatchObject({ status: 'succeeded', stdout: 'as it was\n' });
    expect((await after.see(kept)).state).toBe('approved');
    expect(await after.end(changed)).toMatchObject({ status: 'rejected', started_at: null, stdout: '' });
    while ((await after.see(changed)).state !== 'void') await sleep(20);
    // Neither is run again.
    await server.end('SIGTERM');
    server = await startServer(environment);
    const later = await gateOf({ url: server.url, dataDir: folder });
    await later.put({});
    for (const project_id of projects) {
      const exec = shell('cat /workspace/work/ran');
      const { body } = await later.call('/sandbox/execs', {
        key: later.keys.worker,
        body: { project_id, exec },
      });
      expect(body['stdout']).toBe(project_id === 'kept' ? 'as it was\n' : '');
    }
    expect([(await later.see(kept)).state, (await later.see(changed)).state]).toEqual(['approved', 'void']);
  } finally {
    await server.end('SIGTERM');
    await rm(folder, { recursive: true, force: true });
  }
}, 120_000);

test('a word is void after a restart where the server before ended the exec unstarted, and not the word', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'secbox-'));
  service = await startRunningService({ SECBOX_AUTH: 'keys' }, folder);
  const gate = await gateOf(service);
  await gate.put({ approvals: everything });
  const [rejected, cancelled] = [(await gate.hold('true')).exec_id, (await gate.hold('true')).exec_id];
  await service.stop();
  const database = new Sqlite(join(folder, 'secbox.db'));
  database.prepare("update approvals set state = 'approved'").run();
  const end = database.prepare(
    "update sandbox_execs set status = ?, ended_at = created_at, error_reason = 'x' where exec_id = ?",
  );
  end.run('rejected', rejected);
  end.run('cancelled', cancelled);
  database.close();

  service = await startRunningService({ SECBOX_AUTH: 'keys' }, folder);
  const again = await gateOf(service);
  expect([(await again.see(rejected)).state, (await again.see(cancelled)).state]).toEqual([
    'void',
    'approved',
  ]);
  const { body } = await again.call('/audit/events?type=approval_void', { key: again.keys.auditor });
  expect(body['events']).toEqual([expect.objectContaining({ subject: rejected, details: { reason: 'x' } })]);
});
