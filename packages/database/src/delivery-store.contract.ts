import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { defaultTenant, neverRan, parseTenantId } from '@secbox/contracts';
import { eventOf } from './access-stores.contract.js';
import { approvalOf, word } from './approval-store.contract.js';
import { submissionOf, type DatabasePlace } from './exec-store.contract.js';
import type { Database } from './open-database.js';

/** What every database must do with what a webhook is to be told. */
export function describeDeliveryStore(name: string, makePlace: () => Promise<DatabasePlace>): void {
  describe(`delivery store: ${name}`, () => {
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

    const insert = async (delivery: string, at = '2024-05-01T10:00:00.000Z', tenant = defaultTenant) => {
      const submission = { ...submissionOf(), tenant };
      const event = eventOf('approval_requested', { at });
      await database.approvals.insert(submission, [], approvalOf(submission), event, delivery);
      return submission.exec_id;
    };
    const names = async (limit = 10) =>
      (await database.deliveries.pending(limit)).map(({ delivery }) => delivery);

    test('what is to be told is there with what it tells of, also when the database is opened again', async () => {
      const id = await insert('asked');
      const denied = neverRan('rejected', 'denied', new Date('2024-05-01T10:30:00.000Z'));
      const event = eventOf('approval_decided', { at: '2024-05-01T10:30:00.000Z' });
      expect(await database.approvals.settle(id, word('denied'), denied, event, 'decided')).toBe(true);
      await database.close();
      database = await place.open();
      const { plan: _, risk: __, ...approval } = (await database.approvals.find(defaultTenant, id)) ?? {};
      const at = { tries: 0, approval };
      expect(await database.deliveries.pending(10)).toEqual([
        { ...at, delivery: 'asked', type: 'approval.requested', next_at: '2024-05-01T10:00:00.000Z' },
        { ...at, delivery: 'decided', type: 'approval.settled', next_at: '2024-05-01T10:30:00.000Z' },
      ]);
    });

    test('of a decision that came too late nothing is told', async () => {
      const id = await insert('asked');
      const approve = (delivery: string) =>
        database.approvals.settle(id, word('approved'), 'queued', eventOf('approval_decided'), delivery);
      expect([await approve('first'), await approve('second')]).toEqual([true, false]);
      expect((await names()).sort()).toEqual(['asked', 'first']);
    });

    test('of a word that is made void it is told, once', async () => {
      const id = await insert('asked');
      const makeVoid = (delivery: string) =>
        database.approvals.makeVoid(id, eventOf('approval_void'), delivery);
      expect([await makeVoid('first'), await makeVoid('second')]).toEqual([true, false]);
      expect((await names()).sort()).toEqual(['asked', 'first']);
    });

    test('what is to be told is found by whom it is for', async () => {
      await insert('first');
      await insert('second');
      await insert('of acme', '2024-05-01T09:00:00.000Z', parseTenantId('acme'));
      expect(await database.deliveries.tenants()).toEqual(['acme', 'default']);
      const of = async (tenant: string, limit = 10) =>
        (await database.deliveries.pending(limit, tenant)).map(({ delivery }) => delivery);
      expect([await of('acme'), await of('default'), await of('default', 1), await of('other')]).toEqual([
        ['of acme'],
        ['first', 'second'],
        ['first'],
        [],
      ]);
      await database.deliveries.remove('of acme');
      expect(await database.deliveries.tenants()).toEqual(['default']);
    });

    test('the oldest come first; one is put off, taken, or given up for its age', async () => {
      await insert('late', '2024-05-03T10:00:00.000Z');
      await insert('early', '2024-05-01T10:00:00.000Z');
      await insert('middle', '2024-05-02T10:00:00.000Z');
      expect(await names()).toEqual(['early', 'middle', 'late']);
      expect(await names(2)).toEqual(['early', 'middle']);
      await database.deliveries.postpone('middle', 3, '2024-05-04T10:00:00.000Z');
      expect(await database.deliveries.dropOlder('2024-05-02T10:00:00.000Z')).toBe(1);
      expect(await database.deliveries.dropOlder('2024-05-02T10:00:00.000Z')).toBe(0);
      await database.deliveries.remove('late');
      await database.deliveries.remove('late');
      expect(await database.deliveries.pending(10)).toEqual([
        expect.objectContaining({ delivery: 'middle', tries: 3, next_at: '2024-05-04T10:00:00.000Z' }),
      ]);
    });
  });
}
