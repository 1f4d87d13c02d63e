import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { defaultTenant, parseAgentId, parseLayeredSkillId, parseUserId } from '@secbox/contracts';
import { openDatabase, type Database } from '@secbox/database';
import { SkillLayers } from '@secbox/skill-layers';
import { SkillRegister } from './skill-register.js';

const user = { userId: parseUserId('u'), agentId: parseAgentId('agent') };
const place = { ...user, skillId: parseLayeredSkillId('w') };
let root: string;
let database: Database;
let layers: SkillLayers;
let register: SkillRegister;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'secbox-register-'));
  layers = await SkillLayers.open({ root });
  database = await openDatabase(join(root, 'secbox.db'));
  register = new SkillRegister({ store: database.skillRegistry, now: () => new Date() });
});
afterEach(async () => {
  await database.close();
  await layers.close();
  await rm(root, { recursive: true });
});
const rows = async () =>
  (await register.list(defaultTenant, user)).map(
    ({ skill_id: skill, user_id: by, name }) => `${skill} of ${by ?? 'all'}: ${name}`,
  );

test('rows that a killed server left out or behind are made good', async () => {
  await layers.editFile(place, 'README.md', '# Mine');
  await layers.baseline(place, null);
  await layers.editFile(place, 'README.md', '# Changed');
  const gone = { ...place, skillId: parseLayeredSkillId('gone') };
  const named = { name: 'n', description: 'd' };
  await database.skillRegistry.put({ tenant: defaultTenant, ...gone }, named, new Date());
  expect(await register.reconcile(defaultTenant, layers, [user])).toBe(3);
  expect(await rows()).toEqual(['w of all: Mine', 'w of u: Changed']);
  expect(await register.reconcile(defaultTenant, layers, [user])).toBe(0);
});

test('of changes at once the last is what is told', async () => {
  await layers.editFile(place, 'x', '1');
  await layers.baseline(place, null);
  for (let round = 0; round < 5; round += 1) {
    const change = async (text: string) => {
      await layers.editFile(place, 'x', text);
      await register.edited(defaultTenant, layers, place, ['x']);
    };
    await Promise.all([change('2'), change('3'), change('1')]);
    const isOwn = (await layers.own(user)).length > 0;
    expect(await rows()).toEqual(isOwn ? ['w of u: w'] : []);
  }
});
