import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  defaultTenant,
  parseAgentId,
  parseLayeredSkillId,
  parseTenantId,
  parseUserId,
} from '@secbox/contracts';
import type { DatabasePlace } from './exec-store.contract.js';
import type { Database } from './open-database.js';
import type { RegisteredSkillKey } from './skill-registry-store.js';

const agentId = parseAgentId('agent');
const key = (skill: string, user: string | null = null, tenant = defaultTenant): RegisteredSkillKey => ({
  tenant,
  agentId,
  userId: user === null ? null : parseUserId(user),
  skillId: parseLayeredSkillId(skill),
});
const named = { name: '天气', description: 'd' };
const [first, later] = [new Date('2026-01-01'), new Date('2026-01-02')];

/** What every database must do with the skills of agents. */
export function describeSkillRegistryStore(name: string, makePlace: () => Promise<DatabasePlace>): void {
  describe(`skill registry store: ${name}`, () => {
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
    const list = async (user?: string, tenant = defaultTenant) =>
      (
        await database.skillRegistry.list(tenant, agentId, user === undefined ? undefined : parseUserId(user))
      ).map(({ skill_id: skill, user_id: of }) => `${skill} of ${of ?? 'all'}`);

    test('tells what everybody has, and what one user has too', async () => {
      await database.skillRegistry.put(key('b'), named, first);
      await database.skillRegistry.put(key('a', 'u1'), named, first);
      await database.skillRegistry.put(key('b', 'u1'), named, first);
      await database.skillRegistry.put(key('c', 'u2'), named, first);
      expect(await list()).toEqual(['b of all']);
      expect(await list('u1')).toEqual(['a of u1', 'b of all', 'b of u1']);
      expect(await list('u1', parseTenantId('other'))).toEqual([]);
    });

    test('has each once, and remembers when it came', async () => {
      for (const user of [null, 'u1']) {
        await database.skillRegistry.put(key('a', user), named, first);
        await database.skillRegistry.put(key('a', user), { name: 'n', description: 'e' }, later);
      }
      const rows = await database.skillRegistry.list(defaultTenant, agentId, parseUserId('u1'));
      expect(rows).toHaveLength(2);
      for (const row of rows) {
        expect(row).toMatchObject({
          name: 'n',
          description: 'e',
          created_at: first.toISOString(),
          updated_at: later.toISOString(),
        });
      }
    });

    test('forgets one, or all of a user, and nobody else’s', async () => {
      for (const user of [null, 'u1', 'u2']) await database.skillRegistry.put(key('a', user), named, first);
      expect(await database.skillRegistry.remove(key('a'))).toBe(true);
      expect(await database.skillRegistry.remove(key('a'))).toBe(false);
      expect(await database.skillRegistry.remove(key('a', 'u2', parseTenantId('other')))).toBe(false);
      await database.skillRegistry.removeUser({ tenant: defaultTenant, agentId, userId: parseUserId('u1') });
      expect(await list('u1')).toEqual([]);
      expect(await list('u2')).toEqual(['a of u2']);
    });

    test('takes names for what they are', async () => {
      const hostile = { name: "'; drop table agent_skill_registry; --", description: '%_\u202e' };
      await database.skillRegistry.put(key('a'), hostile, first);
      expect(await database.skillRegistry.list(defaultTenant, agentId)).toMatchObject([hostile]);
    });
  });
}
