import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { at, LayersFixture, userOf } from './testing/layers-fixture.js';

const agent = '00000000-0000-4000-8000-000000000000';
const own = (user: string) => at(user, 'own', agent);

let now: Date;
let failures: unknown[];
let fixture: LayersFixture;
beforeEach(async () => {
  now = new Date('2026-01-01T00:00:00Z');
  failures = [];
  fixture = await LayersFixture.make({ now: () => now, failed: (error) => failures.push(error) });
  for (const user of ['u1', 'u2']) await trashOne(user, user);
});
afterEach(() => fixture.remove());

async function trashOne(user: string, text: string): Promise<void> {
  await fixture.layers.editFile(own(user), 'f', text);
  await fixture.layers.deleteSkill(own(user));
}

const inTrash = (...path: string[]) => fixture.inRoot('skill', '.trash', ...path);

async function breakAllOf(user: string): Promise<void> {
  for (const id of await inTrash('users', agent, user)) {
    await writeFile(join(fixture.root, 'skill/.trash/users', agent, user, id, 'entry.json'), 'not JSON');
  }
}

test('of other users nothing is read to see, fill or empty the trash of one', async () => {
  await breakAllOf('u2');
  await trashOne('u1', 'again');
  const [newest, ...others] = await fixture.layers.trash(own('u1'));
  expect(others).toHaveLength(1);
  await fixture.layers.restoreFromTrash(own('u1'), newest?.id ?? '');
  expect(Object.keys(await fixture.contents(own('u1')))).toEqual(['f']);
  expect(await fixture.layers.trash(own('u1'))).toEqual(others);
});

test('what is in the trash of another user, or of the same one with another agent, is not found', async () => {
  const [item] = await fixture.layers.trash(own('u1'));
  for (const other of [own('u2'), userOf('u1')]) {
    await expect(fixture.layers.restoreFromTrash(other, item?.id ?? '')).rejects.toMatchObject({
      code: 'trash_entry_not_found',
    });
  }
});

test('what lies in the trash without the folder of a user, as it once did, is found after the next start', async () => {
  const trash = join(fixture.root, 'skill/.trash');
  const [flat] = await inTrash('users', agent, 'u1');
  await rename(join(trash, 'users', agent, 'u1', flat ?? ''), join(trash, flat ?? ''));
  await mkdir(join(trash, 'a folder of an operator'));
  await mkdir(join(trash, 'broken'));
  await writeFile(join(trash, 'broken', 'entry.json'), 'not JSON');
  await fixture.reopen();
  expect(failures).toMatchObject([{ name: 'SyntaxError' }]);
  expect(await inTrash()).toEqual(['a folder of an operator', 'broken', 'users']);
  const [item] = await fixture.layers.trash(own('u1'));
  expect(item?.id).toBe(flat);
  await fixture.layers.restoreFromTrash(own('u1'), item?.id ?? '');
  expect(await fixture.contents(own('u1'))).toEqual({ f: 'u1' });
  expect(await fixture.layers.trash(own('u2'))).toHaveLength(1);
});

test('what is old goes with the folders it was in, except where it cannot be read', async () => {
  await trashOne('u3', 'old');
  await breakAllOf('u1');
  now = new Date('2026-01-05T00:00:00Z');
  await trashOne('u3', 'new');
  now = new Date('2026-01-09T00:00:00Z');
  expect(await fixture.layers.cleanUpIdle({ idleMs: 1e12 })).toMatchObject({ expired: 2 });
  expect(failures).toMatchObject([{ name: 'SyntaxError' }]);
  expect(await inTrash('users', agent)).toEqual(['u1', 'u3']);
  await trashOne('u2', 'again');
  expect(await fixture.layers.trash(own('u2'))).toHaveLength(1);
});
