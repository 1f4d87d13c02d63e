import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { at, LayersFixture, userOf } from './testing/layers-fixture.js';
import { zipOf } from './testing/zip-of.js';

let limit = { bytes: 1000, entries: 10 };
let fixture: LayersFixture;
beforeEach(async () => {
  limit = { bytes: 1000, entries: 10 };
  fixture = await LayersFixture.make({ userLimit: () => limit });
  await fixture.upload('baseline', { 'main.py': 'x'.repeat(5000) });
});
afterEach(() => fixture.remove());

const place = at('u1');
const full = expect.objectContaining({ code: 'storage_full' });
const text = (bytes: number, letter = 'a') => letter.repeat(bytes);

test('what a user changes is counted over all skills with an agent, and what the baseline has is not', async () => {
  const { layers } = fixture;
  await layers.editFile(place, 'a', text(600));
  await layers.editFile(at('u1', 'own'), 'b', text(400));
  await expect(layers.editFile(at('u1', 'third'), 'c', text(1))).rejects.toEqual(full);
  await expect(layers.writeFile(place, 'c', [Buffer.from('x')])).rejects.toEqual(full);
  await expect(layers.status(at('u1', 'third'))).rejects.toMatchObject({ code: 'skill_not_found' });
  expect(await fixture.contents(at('u1', 'own'))).toEqual({ b: text(400) });
  // Another user, and the same one with another agent, have their own.
  await layers.editFile(at('u2'), 'a', text(1000));
  await layers.editFile(at('u1', 'own', 'other'), 'a', text(1000));
});

test('who has too much, as the limit was lowered, may make it less, and not more', async () => {
  const { layers } = fixture;
  await layers.editFile(place, 'a', text(900));
  limit = { bytes: 100, entries: 10 };
  await layers.editFile(place, 'a', text(800));
  await expect(layers.editFile(place, 'a', text(801))).rejects.toEqual(full);
  await layers.moveFile(place, 'a', 'b');
  await layers.deleteFile(place, 'b');
  await layers.editFile(place, 'a', text(100));
});

test('many small files are too many too', async () => {
  for (let n = 0; n < 10; n += 1) await fixture.layers.editFile(place, `f${n}`, '');
  await expect(fixture.layers.editFile(place, 'f10', '')).rejects.toEqual(full);
});

test('an archive with too much changes nothing, whichever of its skills it is', async () => {
  const archive = join(fixture.root, 'two.zip');
  await writeFile(archive, zipOf('', { 'one/README.md': text(400), 'two/README.md': text(700) }));
  const options = { archiveName: 'two.zip', scope: 'overlay' as const };
  await expect(fixture.layers.upload(userOf('u1'), archive, options)).rejects.toEqual(full);
  expect((await fixture.layers.list(userOf('u1'))).map(({ skillId }) => skillId)).toEqual(['weather']);
  expect(await fixture.inRoot('skill/.staging')).toEqual([]);
  // A baseline is its author's business.
  await fixture.layers.upload(userOf('u1'), archive, { ...options, scope: 'baseline' });
});

test('an archive is counted as a whole: one skill may take the room that another one leaves', async () => {
  const archive = join(fixture.root, 'two.zip');
  const options = { archiveName: 'two.zip', scope: 'overlay' as const };
  for (const [one, two] of [
    [300, 600],
    [700, 300],
  ] as const) {
    await writeFile(archive, zipOf('', { 'one/README.md': text(one), 'two/README.md': text(two) }));
    await fixture.layers.upload(userOf('u1'), archive, options);
  }
  expect(await fixture.layers.stat(at('u1', 'one'), 'README.md')).toMatchObject({ bytes: 700 });
});

test('what an exec leaves is not kept when it is too much, and it is said so', async () => {
  const write = (bytes: number) => (folder: string) => writeFile(join(folder, 'made'), text(bytes));
  const effects = await fixture.exec(place, write(1001));
  expect(effects).toMatchObject({ kept: false, added: [{ path: 'made', bytes: 1001 }] });
  expect(effects.reason).toContain('may take 1000');
  expect(await fixture.layers.files(place)).toHaveLength(1);
  expect(await fixture.exec(place, write(1000))).toMatchObject({ kept: true, reason: null });
});

test('deleting and making again fills no trash: of one user it keeps no more than a user may have', async () => {
  for (const letter of ['a', 'b', 'c']) {
    await fixture.layers.editFile(at('u1', 'own'), 'f', text(500, letter));
    await fixture.layers.deleteSkill(at('u1', 'own'));
  }
  await fixture.layers.editFile(at('u2', 'own'), 'f', text(500));
  await fixture.layers.deleteSkill(at('u2', 'own'));
  expect(await fixture.layers.trash(userOf('u1'))).toHaveLength(2);
  expect(await fixture.layers.trash(userOf('u2'))).toHaveLength(1);
});

test('what was removed last stays in the trash, even if it alone is more than a user may have', async () => {
  await fixture.layers.editFile(at('u1', 'old'), 'f', text(10));
  await fixture.layers.deleteSkill(at('u1', 'old'));
  await fixture.layers.editFile(at('u1', 'own'), 'f', text(900));
  limit = { bytes: 100, entries: 10 };
  await new Promise((resolve) => setTimeout(resolve, 2));
  await fixture.layers.deleteSkill(at('u1', 'own'));
  expect(await fixture.layers.trash(userOf('u1'))).toMatchObject([{ skillId: 'own' }]);
});
