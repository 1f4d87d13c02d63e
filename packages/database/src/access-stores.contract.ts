import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  defaultTenant,
  newKeyId,
  parseTenantId,
  type SecurityEvent,
  type SecurityEventType,
} from '@secbox/contracts';
import { randomUUID } from 'node:crypto';
import type { DatabasePlace } from './exec-store.contract.js';
import type { StoredKey } from './key-store.js';
import type { Database } from './open-database.js';

const other = parseTenantId('other');
const now = '2024-05-01T10:00:00.000Z';

export function keyOf(changes: Partial<StoredKey> = {}): StoredKey {
  return {
    key_id: newKeyId(),
    tenant: defaultTenant,
    roles: ['worker', 'auditor'],
    label: null,
    prefix: `sbx_${randomUUID()}`,
    digest: 'd'.repeat(64),
    user_patterns: null,
    agent_patterns: ['a-*'],
    created_at: now,
    created_by: null,
    expires_at: null,
    revoked_at: null,
    revoked_by: null,
    last_used_at: null,
    ...changes,
  };
}

export function eventOf(type: SecurityEventType, changes: Partial<SecurityEvent> = {}): SecurityEvent {
  return {
    event_id: randomUUID(),
    type,
    tenant: defaultTenant,
    actor: null,
    address: '127.0.0.1',
    subject: null,
    details: { why: 'a test' },
    at: now,
    count: 1,
    last_at: now,
    ...changes,
  };
}

/** What every database must do with keys and with what happened at the door. */
export function describeAccessStores(name: string, makePlace: () => Promise<DatabasePlace>): void {
  describe(`access stores: ${name}`, () => {
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

    const events = async () => (await database.events.list({ limit: 100 })).items;

    test('a key is found by its prefix, with its digest, and told without it', async () => {
      const key = keyOf({ label: 'ci', expires_at: '2030-01-01T00:00:00.000Z' });
      await database.keys.insert(key, eventOf('key_created'));
      expect(await database.keys.findByPrefix(key.prefix)).toEqual(key);
      expect(await database.keys.findByPrefix('sbx_none')).toBeUndefined();
      const { digest: _, ...told } = key;
      expect(await database.keys.find(defaultTenant, key.key_id)).toEqual(told);
      expect(await database.keys.find(undefined, key.key_id)).toEqual(told);
      expect(await database.keys.find(other, key.key_id)).toBeUndefined();
    });

    test('a key and its event are written together, or not at all', async () => {
      const key = keyOf();
      await database.keys.insert(key, eventOf('key_created'));
      await expect(
        database.keys.insert(keyOf({ prefix: key.prefix }), eventOf('key_created')),
      ).rejects.toMatchObject({ message: expect.stringMatching(/unique/i) });
      const event = eventOf('key_created');
      await database.events.insert(event);
      const lost = keyOf();
      await expect(database.keys.insert(lost, event)).rejects.toMatchObject({
        message: expect.stringMatching(/unique/i),
      });
      expect(await database.keys.findByPrefix(lost.prefix)).toBeUndefined();
      expect(await events()).toHaveLength(2);
    });

    test('is revoked once, with one event', async () => {
      const key = keyOf();
      await database.keys.insert(key, eventOf('key_created'));
      const revoke = () => database.keys.revoke(key.key_id, 'admin', now, eventOf('key_revoked'));
      expect(await Promise.all([revoke(), revoke()])).toEqual([true, false]);
      expect(await database.keys.find(defaultTenant, key.key_id)).toMatchObject({
        revoked_at: now,
        revoked_by: 'admin',
      });
      expect(await database.keys.revoke(newKeyId(), null, now, eventOf('key_revoked'))).toBe(false);
      expect((await events()).map(({ type }) => type)).toEqual(['key_revoked', 'key_created']);
    });

    test('keys are listed by tenant, in the order they were made, page by page', async () => {
      const made = [];
      for (let n = 0; n < 5; n += 1) {
        const key = keyOf({ tenant: n === 2 ? other : defaultTenant });
        await database.keys.insert(key, eventOf('key_created'));
        made.push(key);
      }
      const first = await database.keys.list(defaultTenant, { limit: 3 });
      const second = await database.keys.list(defaultTenant, { after: first.after, limit: 3 });
      expect([...first.items, ...second.items].map(({ key_id: id }) => id)).toEqual(
        made.filter(({ tenant }) => tenant === defaultTenant).map(({ key_id: id }) => id),
      );
      expect(second.after).toBeUndefined();
      expect(first.items[0]).not.toHaveProperty('digest');
    });

    test('the last use of a key is kept', async () => {
      const key = keyOf();
      await database.keys.insert(key, eventOf('key_created'));
      await database.keys.touch(key.key_id, now);
      expect(await database.keys.find(defaultTenant, key.key_id)).toMatchObject({ last_used_at: now });
    });

    test('events are listed newest first, of one tenant or of all, and of one type', async () => {
      const of = [
        eventOf('login_refused', { tenant: null }),
        eventOf('key_created'),
        eventOf('login_refused', { tenant: other }),
        eventOf('key_revoked', { at: '2024-05-01T10:00:01.000Z' }),
      ];
      for (const event of of) await database.events.insert(event);
      expect(await events()).toEqual([...of].reverse());
      expect((await database.events.list({ tenant: defaultTenant, limit: 9 })).items).toEqual([of[3], of[1]]);
      const refused = await database.events.list({ type: 'login_refused', limit: 1 });
      expect(refused.items).toEqual([of[2]]);
      const rest = await database.events.list({ type: 'login_refused', after: refused.after, limit: 1 });
      expect(rest).toEqual({ items: [of[0]], after: undefined });
      expect((await database.events.list({ tenant: other, type: 'key_created', limit: 9 })).items).toEqual(
        [],
      );
    });

    test('an event that happens again is counted', async () => {
      const event = eventOf('login_refused');
      await database.events.insert(event);
      await database.events.recount(event.event_id, 7, '2024-05-01T10:00:30.000Z');
      expect(await events()).toEqual([{ ...event, count: 7, last_at: '2024-05-01T10:00:30.000Z' }]);
    });

    test('Settings and the event of their change are written together', async () => {
      const event = eventOf('settings_changed');
      await database.settings.put({}, 0, new Date(now), event);
      await expect(
        database.settings.put({}, 0, new Date(now), eventOf('settings_changed')),
      ).rejects.toMatchObject({ code: 'settings_changed' });
      expect(await events()).toEqual([event]);
    });
  });
}
