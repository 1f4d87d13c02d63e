import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { at, LayersFixture, userOf } from './testing/layers-fixture.js';

let now: Date;
let failures: unknown[];
let fixture: LayersFixture;
beforeEach(async () => {
  now = new Date('2026-01-01T00:00:00Z');
  failures = [];
  fixture = await LayersFixture.make({ now: () => now, failed: (error) => failures.push(error) });
  await fixture.upload('baseline', { 'main.py': 'one' });
  for (const user of ['u1', 'u2', 'u3']) await fixture.layers.editFile(at(user), 'main.py', user);
  now = new Date('2026-01-03T00:00:00Z');
});
afterEach(() => fixture.remove());

const byName = (users: readonly { readonly userId: string }[]) => users.map(({ userId }) => userId).sort();

test('a user who cannot be removed is told, stays and holds up no other', async () => {
  await fixture.layers.editFile(at('u2', 'another'), 'x', 'x');
  now = new Date('2026-01-05T00:00:00Z');
  // Nothing can be trashed that is not there.
  await rm(join(fixture.root, 'skill/overlay/u2/agent/weather'), { recursive: true });
  const removed: string[] = [];
  const cleaned = await fixture.layers.cleanUpIdle({
    onRemoved: ({ userId }) => Promise.resolve(void removed.push(userId)),
  });
  expect(byName(cleaned.users)).toEqual(['u1', 'u3']);
  expect(removed.sort()).toEqual(['u1', 'u3']);
  expect(cleaned.left).toEqual([userOf('u2')]);
  expect(cleaned.trashed).toBe(2);
  expect(failures).toMatchObject([{ code: 'ENOENT' }]);
  expect(await fixture.inRoot('skill/overlay')).toEqual(['u2']);
  expect(await fixture.layers.trash(userOf('u2'))).toEqual([]);
});

test('nor does what is told of a user: before it goes, it stays; afterwards it is gone', async () => {
  const trouble = (of: string) => (user: { readonly userId: string }) =>
    user.userId === of ? Promise.reject(new Error(of)) : Promise.resolve();
  const cleaned = await fixture.layers.cleanUpIdle({ onRemove: trouble('u1'), onRemoved: trouble('u2') });
  expect(byName(cleaned.users)).toEqual(['u2', 'u3']);
  expect(cleaned.left).toEqual([userOf('u1')]);
  expect(failures.map(String).sort()).toEqual(['Error: u1', 'Error: u2']);
  expect(await fixture.contents(at('u1'))).toEqual({ 'main.py': 'u1' });
});

test('a user who cannot be read is told, keeps the versions of that agent and nothing of the others', async () => {
  const elsewhere = (user: string) => at(user, 'weather', 'other');
  for (const text of ['one', 'two', 'three']) {
    await fixture.upload('baseline', { 'main.py': text });
    await fixture.upload('baseline', { 'main.py': text }, elsewhere('author'));
  }
  await mkdir(join(fixture.root, 'skill/overlay/u3/agent/weather/99'));
  await writeFile(join(fixture.root, 'skill/overlay/u2/agent/.meta/pins.json'), 'not JSON');
  await fixture.reopen();
  expect(await fixture.layers.collectGarbage(0)).toEqual({ versions: 2, generations: 1 });
  expect(await fixture.layers.versions(at('u1'))).toHaveLength(3);
  expect(await fixture.layers.versions(elsewhere('u1'))).toHaveLength(1);
  expect(failures).toMatchObject([{ name: 'SyntaxError' }, { name: 'SyntaxError' }]);
});
