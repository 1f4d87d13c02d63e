import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  defaultTenant,
  neverRan,
  parseTenantId,
  type Approval,
  type ExecSubmission,
} from '@secbox/contracts';
import { eventOf } from './access-stores.contract.js';
import { start, submissionOf, type DatabasePlace } from './exec-store.contract.js';
import type { Database } from './open-database.js';

export function approvalOf(submission: ExecSubmission, changes: Partial<Approval> = {}): Approval {
  return {
    approval_id: submission.exec_id,
    exec_id: submission.exec_id,
    tenant: submission.tenant,
    project_id: submission.project_id,
    skill_id: null,
    requested_by: 'worker',
    requested_at: '2024-05-01T10:00:00.000Z',
    expires_at: '2024-05-01T11:00:00.000Z',
    needed_because: 'a test',
    risk_level: 'HIGH',
    plan_hash: submission.plan_hash,
    state: 'pending',
    decided_by: null,
    decided_through: null,
    decided_at: null,
    decision_reason: null,
    plan: {
      argv: ['bash', '-lc', 'true'],
      cwd: '/workspace/work',
      env_keys: [],
      stdin_bytes: 0,
      stdin_hash: null,
      unseen: [],
      inputs: [],
      image: 'i',
      image_digest: 'd',
      skill_digest: null,
      skill_version: null,
      skill_source: null,
      user_id: null,
      agent_id: null,
      sandbox_type: 'docker',
      read_only_work: false,
      limits: submission.policy_snapshot.values,
    },
    risk: { level: 'HIGH', findings: [], omitted: 0, complete: true },
    ...changes,
  };
}

export const word = (state: 'approved' | 'denied', at = '2024-05-01T10:30:00.000Z') =>
  ({
    state,
    decided_by: 'approver',
    decided_through: 'api',
    decided_at: at,
    decision_reason: null,
  }) as const;

const denied = neverRan('rejected', 'denied', new Date('2024-05-01T10:30:00.000Z'));

/** What every database must do with what waits for a human's word. */
export function describeApprovalStore(name: string, makePlace: () => Promise<DatabasePlace>): void {
  describe(`approval store: ${name}`, () => {
    let place: DatabasePlace;
    let database: Database;
    beforeEach(async () => {
      place = await makePlace();
      database = await place.open();
    });
    afterEach(async () => {
      await database.close();
      await place.remove();
    });

    const insert = async (changes: Partial<Approval> = {}, contents: string[] = []) => {
      const submission = submissionOf();
      const approval = approvalOf(submission, changes);
      await database.approvals.insert(submission, contents, approval, eventOf('approval_requested'));
      return approval;
    };
    const events = async () => (await database.events.list({ limit: 100 })).items.map(({ type }) => type);
    const statusOf = async ({ exec_id }: Approval) => (await database.execs.find(exec_id))?.status;

    test('an exec that waits, what is shown of it and the event are written together', async () => {
      const approval = await insert({}, ['sha-1', 'sha-2']);
      expect(await database.approvals.find(defaultTenant, approval.exec_id)).toEqual(approval);
      expect(await statusOf(approval)).toBe('awaiting_approval');
      expect(await events()).toEqual(['approval_requested']);
      const again = submissionOf();
      const event = eventOf('approval_requested');
      await database.events.insert(event);
      await expect(database.approvals.insert(again, [], approvalOf(again), event)).rejects.toMatchObject({
        message: expect.stringMatching(/unique/i),
      });
      expect(await database.execs.find(again.exec_id)).toBeUndefined();
    });

    test('one that was shown before more was has null for what it lacks', async () => {
      const { argv, cwd, stdin_bytes, inputs } = approvalOf(submissionOf()).plan;
      const before = { argv, cwd, stdin_bytes, inputs } as unknown as Approval['plan'];
      const { exec_id: id } = await insert({ plan: before });
      expect((await database.approvals.find(defaultTenant, id))?.plan).toEqual({
        ...before,
        stdin_hash: null,
        unseen: null,
        skill_version: null,
        skill_source: null,
        user_id: null,
        agent_id: null,
        sandbox_type: null,
      });
    });

    test('one of another tenant is not found', async () => {
      const { exec_id: id } = await insert();
      expect(await database.approvals.find(parseTenantId('other'), id)).toBeUndefined();
    });

    test('of many who decide at once one does, and the exec goes where that one says', async () => {
      for (let round = 0; round < 20; round += 1) {
        const approval = await insert();
        const { exec_id: id } = approval;
        const approve = () =>
          database.approvals.settle(id, word('approved'), 'queued', eventOf('approval_decided'));
        const deny = () => database.approvals.settle(id, word('denied'), denied, eventOf('approval_decided'));
        const order = round % 2 === 0 ? [approve, deny, approve, deny] : [deny, approve, deny, approve];
        const won = await Promise.all(order.map((decide) => decide()));
        expect(won.filter(Boolean)).toHaveLength(1);
        const { state } = (await database.approvals.find(defaultTenant, id)) as Approval;
        expect(await statusOf(approval)).toBe(state === 'approved' ? 'queued' : 'rejected');
      }
      expect((await events()).filter((type) => type === 'approval_decided')).toHaveLength(20);
    });

    test('a word that comes when the time is over is none; that it is over is written', async () => {
      const { exec_id: id } = await insert();
      const late = word('approved', '2024-05-01T11:00:00.000Z');
      expect(await database.approvals.settle(id, late, 'queued', eventOf('approval_decided'))).toBe(false);
      const expired = { ...late, state: 'expired', decided_by: null, decided_through: null } as const;
      expect(await database.approvals.settle(id, expired, denied, eventOf('approval_expired'))).toBe(true);
      expect(await events()).toEqual(['approval_expired', 'approval_requested']);
    });

    test('an exec that does not wait any more takes no decision, and nothing of it is written', async () => {
      const { exec_id: id } = await insert();
      await database.execs.finish(id, { ...denied, evidence: { inputs: [], artifacts: [] } });
      await expect(
        database.approvals.settle(id, word('approved'), 'queued', eventOf('approval_decided')),
      ).rejects.toMatchObject({ code: 'internal_error' });
      expect(await database.approvals.find(defaultTenant, id)).toMatchObject({ state: 'pending' });
      expect(await events()).toEqual(['approval_requested']);
    });

    test('a word is made void, once, and what was denied stays so', async () => {
      const first = await insert();
      await database.approvals.settle(first.exec_id, word('approved'), 'queued', eventOf('approval_decided'));
      await database.approvals.makeVoid(first.exec_id, eventOf('approval_void'));
      await database.approvals.makeVoid(first.exec_id, eventOf('approval_void'));
      expect(await database.approvals.find(defaultTenant, first.exec_id)).toMatchObject({ state: 'void' });
      const second = await insert();
      await database.approvals.settle(second.exec_id, word('denied'), denied, eventOf('approval_decided'));
      await database.approvals.makeVoid(second.exec_id, eventOf('approval_void'));
      expect(await database.approvals.find(defaultTenant, second.exec_id)).toMatchObject({ state: 'denied' });
      expect((await events()).filter((type) => type === 'approval_void')).toHaveLength(1);
    });

    test('a word for what ended without a start is one in vain, until it is void; that of a cancelled one is not', async () => {
      const ended = [];
      for (const status of ['rejected', 'error', 'cancelled'] as const) {
        const { exec_id: id } = await insert();
        await database.approvals.settle(id, word('approved'), 'queued', eventOf('approval_decided'));
        const end = neverRan(status, status, new Date('2024-05-01T10:30:00.000Z'));
        await database.execs.finish(id, { ...end, evidence: { inputs: [], artifacts: [] } });
        ended.push({ exec_id: id, tenant: defaultTenant, error_reason: status });
      }
      const denial = await insert();
      await database.approvals.settle(denial.exec_id, word('denied'), denied, eventOf('approval_decided'));
      const ran = await insert();
      await database.approvals.settle(ran.exec_id, word('approved'), 'queued', eventOf('approval_decided'));
      await database.execs.markRunning(ran.exec_id, start);
      await database.execs.finish(ran.exec_id, { ...denied, evidence: { inputs: [], artifacts: [] } });
      const [first, second] = ended;
      expect(await database.approvals.givenInVain()).toEqual([first, second]);
      await database.approvals.makeVoid(ran.exec_id, eventOf('approval_void'));
      await database.approvals.makeVoid(ended[0]?.exec_id as Approval['exec_id'], eventOf('approval_void'));
      expect(await database.approvals.givenInVain()).toEqual([second]);
    });

    test('they are listed newest first, by state, page by page; what waits oldest first', async () => {
      const made = [];
      for (let n = 0; n < 5; n += 1) {
        made.push(await insert({ requested_at: `2024-05-01T10:00:0${n}.000Z` }));
      }
      await database.approvals.settle(
        made[2]?.exec_id as Approval['exec_id'],
        word('denied'),
        denied,
        eventOf('approval_decided'),
      );
      const ids = made.map(({ exec_id }) => exec_id);
      const first = await database.approvals.list(defaultTenant, { limit: 3 });
      const rest = await database.approvals.list(defaultTenant, { limit: 3, after: first.after });
      expect([...first.items, ...rest.items].map(({ exec_id }) => exec_id)).toEqual([...ids].reverse());
      expect(rest.after).toBeUndefined();
      const waiting = ids.filter((_, index) => index !== 2);
      const pending = await database.approvals.list(defaultTenant, { state: 'pending', limit: 9 });
      expect(pending.items.map(({ exec_id }) => exec_id)).toEqual([...waiting].reverse());
      expect((await database.approvals.pending()).map(({ exec_id }) => exec_id)).toEqual(waiting);
      expect(first.items[0]).not.toHaveProperty('plan');
    });
  });
}
