import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import Sqlite from 'better-sqlite3';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApprovalSummary, SecurityEvent } from '@secbox/contracts';
import { startKeyedService, type KeyedService } from '../access/keyed-service.js';
import { everything, gateOf, shell, type Gate } from '../approvals/gated-service.js';
import { startServer } from '../lifecycle/server-process.js';

let service: KeyedService;
let gate: Gate;
beforeAll(async () => {
  service = await startKeyedService();
  gate = await gateOf(service);
});
afterAll(() => service.close());
beforeEach(async () => {
  expect((await gate.put({ approvals: everything })).status).toBe(200);
});

async function eventsOf(execId: string): Promise<readonly SecurityEvent[]> {
  const { body } = await gate.call('/audit/events?limit=1000', { key: gate.keys.auditor });
  return (body['events'] as SecurityEvent[]).filter(({ subject }) => subject === execId).reverse();
}

const marker = () => `ran-${randomUUID()}`;

describe('exactly one decision', () => {
  test('case 70: a decision that is sent again decides nothing, whatever it says', async () => {
    const { exec_id: id } = await gate.hold('echo once');
    expect((await gate.decide(id, { decision: 'approve' })).status).toBe(200);
    for (const decision of ['approve', 'deny']) {
      const again = await gate.decide(id, { decision });
      expect([again.status, again.body.error?.code]).toEqual([409, 'approval_decided']);
    }
    expect(await gate.end(id)).toMatchObject({ status: 'succeeded', stdout: 'once\n' });
    expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['approval_requested', 'approval_decided']);
  });

  test('case 70: approve and deny at once, 100 times: one wins, and the exec ends as that one says', async () => {
    for (let round = 0; round < 100; round += 1) {
      const { exec_id: id } = await gate.hold('true', { project_id: `race-${round % 4}` });
      const { plan_hash } = await gate.see(id);
      const send = (decision: string) =>
        gate.call(`/approvals/${id}/decision`, {
          key: gate.keys.approver,
          body: { decision, plan_hash },
        });
      // Whichever is sent first has a head start of nothing but chance.
      const order = round % 2 === 0 ? ['approve', 'deny'] : ['deny', 'approve'];
      const answers = await Promise.all([...order, ...order].map(send));
      const won = answers.filter(({ status }) => status === 200);
      expect(won).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(3);
      const state = String(won[0]?.body['state']);
      expect(['approved', 'denied']).toContain(state);
      expect((await gate.see(id)).state).toBe(state);
      expect((await gate.end(id)).status).toBe(state === 'approved' ? 'succeeded' : 'rejected');
      const decided = (await eventsOf(id)).filter(({ type }) => type === 'approval_decided');
      expect(decided).toHaveLength(1);
    }
  }, 180_000);
});

describe('who cannot decide', () => {
  test('case 71: nobody, once it has expired', async () => {
    await gate.put({ approvals: { ...everything, expires_after_seconds: 1 } });
    const name = marker();
    const { exec_id: id } = await gate.hold(`touch /workspace/artifacts/${name}`);
    const { plan_hash } = await gate.see(id);
    const exec = await gate.end(id);
    expect(exec).toMatchObject({ status: 'rejected', started_at: null });
    expect(exec.error_reason).toMatch(/^nobody approved it before /);
    const late = await gate.call(`/approvals/${id}/decision`, {
      key: gate.keys.approver,
      body: { decision: 'approve', plan_hash },
    });
    expect([late.status, late.body.error?.code]).toEqual([410, 'approval_expired']);
    expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['approval_requested', 'approval_expired']);
  });

  test('case 71: nobody of another tenant: to them it does not exist', async () => {
    const { exec_id: id, plan_hash } = await gate.hold('true');
    const { key } = await service.makeKey('acme', ['approver']);
    const asked = (of: string) => [
      gate.call(`/approvals/${of}`, { key }),
      gate.call(`/approvals/${of}/decision`, { key, body: { decision: 'approve', plan_hash } }),
    ];
    const nobodys = randomUUID();
    const [theirs, missing] = [await Promise.all(asked(id)), await Promise.all(asked(nobodys))];
    for (const [index, answer] of theirs.entries()) {
      expect(answer.status).toBe(404);
      expect(answer.text.replaceAll(id, nobodys)).toBe(missing[index]?.text);
    }
    expect((await gate.call('/approvals', { key })).body).toEqual({ approvals: [], next_cursor: null });
    expect((await gate.see(id)).state).toBe('pending');
  });

  test('case 71: not the key that asked, which is on record; nor one without the role', async () => {
    const both = await service.makeKey('default', ['worker', 'approver']);
    const answer = await gate.call('/sandbox/execs', {
      key: both.key,
      body: { project_id: 'p', exec: shell('true') },
    });
    const id = String(answer.body['exec_id']);
    const own = await gate.decide(id, { decision: 'approve' }, both.key);
    expect([own.status, own.body.error?.code]).toEqual([403, 'approval_by_requester']);
    for (const key of [gate.keys.worker, gate.keys.admin, gate.keys.auditor]) {
      const refused = await gate.decide(id, { decision: 'approve' }, key);
      expect([refused.status, refused.body.error?.code]).toEqual([403, 'role_required']);
    }
    expect((await gate.see(id)).state).toBe('pending');
    const { body } = await gate.call('/audit/events?type=access_refused&limit=1000', {
      key: gate.keys.auditor,
    });
    expect(body['events']).toContainEqual(
      expect.objectContaining({
        actor: both.keyId,
        details: { reason: 'decides on an exec that it asked for' },
      }),
    );
    // Of somebody else's it may.
    const other = await gate.hold('true');
    expect((await gate.decide(other.exec_id, { decision: 'deny' }, both.key)).status).toBe(200);
  });
});

describe('what was approved is what runs, or nothing does', () => {
  test('case 72: a word for another plan is none', async () => {
    const { exec_id: id } = await gate.hold('true');
    const other = await gate.hold('false');
    for (const plan_hash of [other.plan_hash, '0'.repeat(64)]) {
      const refused = await gate.decide(id, { decision: 'approve', plan_hash });
      expect([refused.status, refused.body.error?.code]).toEqual([409, 'approval_plan_mismatch']);
    }
    const without = await gate.call(`/approvals/${id}/decision`, {
      key: gate.keys.approver,
      body: { decision: 'approve' },
    });
    expect(without.status).toBe(400);
    expect((await gate.see(id)).state).toBe('pending');
  });

  test('case 72: an input of its project that was changed since, by an exec that nobody has to agree to', async () => {
    const project_id = marker();
    await gate.put({});
    const write = (content: string) =>
      gate.call('/sandbox/execs', {
        key: gate.keys.worker,
        body: { project_id, exec: shell('true'), inputs: [{ path: 'main.sh', content }] },
      });
    expect((await write('echo harmless')).status).toBe(200);
    await gate.put({ approvals: everything });
    const held = await gate.hold('bash /workspace/inputs/main.sh', { project_id });
    const { plan } = await gate.see(held.exec_id);
    expect(plan.inputs).toEqual([
      expect.objectContaining({ path: 'main.sh', brought: false, preview: 'echo harmless' }),
    ]);
    await gate.put({});
    expect((await write('echo harm')).status).toBe(200);
    expect((await gate.decide(held.exec_id, { decision: 'approve' })).status).toBe(200);
    const exec = await gate.end(held.exec_id);
    expect(exec).toMatchObject({ status: 'rejected', started_at: null, stdout: '' });
    expect(exec.error_reason).toMatch(/inputs of the project were changed/);
    for (;;) {
      if ((await gate.see(held.exec_id)).state === 'void') break;
      await sleep(20);
    }
    expect((await eventsOf(held.exec_id)).map(({ type }) => type)).toEqual([
      'approval_requested',
      'approval_decided',
      'approval_void',
    ]);
  });

  test('case 72: an input that was added since', async () => {
    const project_id = marker();
    const held = await gate.hold('cat /workspace/inputs/*', { project_id });
    await gate.put({});
    await gate.call('/sandbox/execs', {
      key: gate.keys.worker,
      body: { project_id, exec: shell('true'), inputs: [{ path: 'added', content: 'harm' }] },
    });
    await gate.decide(held.exec_id, { decision: 'approve' });
    expect(await gate.end(held.exec_id)).toMatchObject({ status: 'rejected', started_at: null });
  });

  test.each([
    ['the sealed plan', 'plan'],
    ['the hash of its row', 'row'],
  ])('case 72: %s, by somebody who can write to our files', async (_, what) => {
    const { exec_id: id } = await gate.hold('echo harmless');
    if (what === 'plan') {
      const file = join(service.dataDir, 'workspace/spool', id, 'plan.sealed');
      const sealed = await readFile(file);
      sealed[sealed.length - 1] = (sealed.at(-1) ?? 0) ^ 1;
      await writeFile(file, sealed);
    } else {
      const database = new Sqlite(join(service.dataDir, 'secbox.db'));
      database.prepare('UPDATE sandbox_execs SET plan_hash = ? WHERE exec_id = ?').run('0'.repeat(64), id);
      database.close();
    }
    await gate.decide(id, { decision: 'approve' });
    expect(await gate.end(id)).toMatchObject({ status: 'rejected', started_at: null, stdout: '' });
    for (;;) {
      if ((await gate.see(id)).state === 'void') break;
      await sleep(20);
    }
  });

  test('case 72: while it runs nobody else of its project does, so that nothing changes under it', async () => {
    const project_id = marker();
    const held = await gate.hold('ls /workspace/inputs; sleep 1; ls /workspace/inputs', { project_id });
    await gate.put({});
    expect((await gate.decide(held.exec_id, { decision: 'approve' })).status).toBe(200);
    for (;;) {
      const { body } = await gate.call(`/sandbox/execs/${held.exec_id}`, { key: gate.keys.worker });
      if (body['status'] === 'running') break;
      await sleep(10);
    }
    const other = await gate.call('/sandbox/execs', {
      key: gate.keys.worker,
      body: { project_id, exec: shell('true'), inputs: [{ path: 'late', content: '' }] },
    });
    const first = await gate.end(held.exec_id);
    expect(first).toMatchObject({ status: 'succeeded', stdout: '' });
    expect(other.body).toMatchObject({ status: 'succeeded' });
    expect(String(other.body['started_at']) >= String(first.ended_at)).toBe(true);
  });
});

describe('looking decides nothing', () => {
  test('case 73: GET, HEAD, OPTIONS, forms and prefetches leave it pending', async () => {
    const { exec_id: id, plan_hash } = await gate.hold('true');
    const key = gate.keys.approver;
    const path = `/approvals/${id}/decision`;
    const query = `?decision=approve&plan_hash=${plan_hash}`;
    for (const purpose of [{}, { purpose: 'prefetch' }, { 'sec-purpose': 'prefetch;prerender' }]) {
      for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE']) {
        const answer = await gate.call(`${path}${query}`, { key, method, headers: purpose });
        expect([method, answer.status]).toEqual([method, 405]);
      }
      expect((await gate.call(`/approvals/${id}${query}`, { key, headers: purpose })).status).toBe(200);
      expect((await gate.call('/approvals', { key, headers: purpose })).status).toBe(200);
    }
    const form = await fetch(`${gate.url}${path}${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-www-form-urlencoded' },
      body: `decision=approve&plan_hash=${plan_hash}`,
    });
    expect(form.status).toBe(415);
    const foreign = await gate.call(path, {
      key,
      body: { decision: 'approve', plan_hash },
      headers: { origin: 'https://evil.example' },
    });
    expect(foreign.status).toBe(403);
    expect((await gate.see(id)).state).toBe('pending');
  });
});

describe('a server that ends while something waits', () => {
  test('case 74: killed: still pending afterwards, approved then, and run; or expired, which the requester is told', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'secbox-'));
    const env = { SECBOX_AUTH: 'keys', SECBOX_DATA_DIR: dataDir };
    let server = await startServer(env);
    try {
      const before = await gateOf({ url: server.url, dataDir });
      await before.put({ approvals: everything });
      const waiting = await before.hold('cat /workspace/inputs/a; echo "$SECRET"', {
        exec: { ...shell('cat /workspace/inputs/a; echo "$SECRET"'), env: { SECRET: 'kept sealed' } },
        inputs: [{ path: 'a', content: 'brought along\n' }],
      });
      const denied = await before.hold('true');
      await before.put({ approvals: { ...everything, expires_after_seconds: 2 } });
      const expiring = await before.hold('true');
      await server.end('SIGKILL');
      await sleep(
        Math.max(0, Date.parse((await pendingIn(dataDir, expiring.exec_id)).expires_at) - Date.now()),
      );

      server = await startServer(env);
      const after = await gateOf({ url: server.url, dataDir });
      expect((await after.see(waiting.exec_id)).state).toBe('pending');
      const listed = await after.call('/approvals?state=pending', { key: after.keys.approver });
      expect((listed.body['approvals'] as ApprovalSummary[]).map(({ exec_id }) => exec_id)).toEqual(
        expect.arrayContaining([denied.exec_id, waiting.exec_id]),
      );
      expect(await after.end(expiring.exec_id)).toMatchObject({ status: 'rejected', started_at: null });
      expect((await after.see(expiring.exec_id)).state).toBe('expired');
      expect((await after.decide(denied.exec_id, { decision: 'deny', reason: 'no' })).status).toBe(200);
      expect(await after.end(denied.exec_id)).toMatchObject({
        status: 'rejected',
        error_reason: 'denied by an approver: no',
      });
      expect((await after.decide(waiting.exec_id, { decision: 'approve' })).status).toBe(200);
      expect(await after.end(waiting.exec_id)).toMatchObject({
        status: 'succeeded',
        stdout: 'brought along\nkept sealed\n',
      });
    } finally {
      await server.end('SIGTERM');
      await rm(dataDir, { recursive: true, force: true });
    }
  }, 60_000);
});

/** As its row has it, while no server runs. */
function pendingIn(dataDir: string, execId: string): Promise<{ readonly expires_at: string }> {
  const database = new Sqlite(join(dataDir, 'secbox.db'), { readonly: true });
  try {
    const row = database.prepare('SELECT expires_at FROM approvals WHERE exec_id = ?').get(execId);
    return Promise.resolve(row as { expires_at: string });
  } finally {
    database.close();
  }
}
