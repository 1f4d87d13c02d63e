import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { SecurityEvent } from '@secbox/contracts';
import { startKeyedService, type Answer, type KeyedService } from '../access/keyed-service.js';
import { everything, gateOf, type Gate } from './gated-service.js';

let service: KeyedService;
let gate: Gate;
beforeAll(async () => {
  service = await startKeyedService();
  gate = await gateOf(service);
  expect((await gate.put({ approvals: everything })).status).toBe(200);
});
afterAll(() => service.close());

const rounds = 10;

/** A word and something else for the same exec, sent at once; whichever is first has no head start but chance. */
async function race(round: number, id: string, planHash: string, other: () => Promise<Answer>) {
  const approve = () =>
    gate.call(`/approvals/${id}/decision`, {
      key: gate.keys.approver,
      body: { decision: 'approve', plan_hash: planHash },
    });
  if (round % 2 === 0) return Promise.all([approve(), other()]);
  const [second, first] = await Promise.all([other(), approve()]);
  return [first, second] as const;
}

/** One outcome, which its row, its exec, its events and whoever decided agree on. */
async function expectOneOutcome(id: string, approved: Answer): Promise<void> {
  const exec = await gate.end(id);
  const { state } = await gate.see(id);
  const { body } = await gate.call('/audit/events?limit=1000', { key: gate.keys.auditor });
  const events = (body['events'] as SecurityEvent[]).filter(({ subject }) => subject === id);
  const outcomes = events.map(({ type }) => type).filter((type) => type !== 'approval_requested');
  if (state === 'approved') {
    expect([approved.status, outcomes]).toEqual([200, ['approval_decided']]);
    // On its way it could still be cancelled.
    expect(['succeeded', 'cancelled']).toContain(exec.status);
  } else {
    expect([state, approved.status, outcomes]).toEqual(['withdrawn', 409, ['approval_withdrawn']]);
    expect(exec).toMatchObject({ status: 'cancelled', started_at: null, stdout: '' });
  }
}

test('approved and cancelled at once: one of both, and it ends as that one says', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { exec_id: id, plan_hash } = await gate.hold('echo ran', { project_id: `race-${round % 3}` });
    const cancel = () => gate.call(`/sandbox/execs/${id}/cancel`, { key: gate.keys.worker, method: 'POST' });
    const [approved, cancelled] = await race(round, id, plan_hash, cancel);
    expect(cancelled.status).toBe(200);
    await expectOneOutcome(id, approved);
  }
}, 60_000);

test('approved while its project is removed: one of both, and nothing of the project is left', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const project = `removed-${round}`;
    const { exec_id: id, plan_hash } = await gate.hold('echo ran', { project_id: project });
    const remove = () =>
      gate.call(`/projects/${project}?cancel=true`, { key: gate.keys.admin, method: 'DELETE' });
    const [approved, removed] = await race(round, id, plan_hash, remove);
    expect(removed.status).toBe(200);
    await expectOneOutcome(id, approved);
    const { body } = await gate.call(`/projects/${project}/files/work/list`, { key: gate.keys.worker });
    expect(body.error?.code).toBe('project_not_found');
  }
}, 60_000);
