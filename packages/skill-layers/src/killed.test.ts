import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { newExecId } from '@secbox/contracts';
import { freezeAt } from './testing/at-step.js';
import { at, LayersFixture, userOf } from './testing/layers-fixture.js';
import { zipOf } from './testing/zip-of.js';

const skill = { 'SKILL.md': '# W\n', 'main.py': 'one\n', 'lib/a.py': 'a\n' };
const place = at('u1');
const baselinePlace = at('author');

type Contents = Record<string, string>;
interface Case {
  readonly name: string;
  /** What is there before; not killed. */
  readonly before?: (fixture: LayersFixture) => Promise<unknown>;
  /** What is killed at every step. */
  readonly change: (fixture: LayersFixture) => Promise<unknown>;
  /** Whose view must be the old or the new one; undefined contents stand for no skill. */
  readonly old: Contents | undefined;
  readonly new: Contents | undefined;
}

const edited = { ...skill, 'main.py': 'mine\n' };
const edit = (fixture: LayersFixture) => fixture.layers.editFile(place, 'main.py', 'mine\n');
const uploadOf = (scope: 'overlay' | 'baseline', who: typeof place) => async (fixture: LayersFixture) => {
  const archive = join(fixture.root, 'new.zip');
  await writeFile(archive, zipOf('weather', { 'new.py': 'new', 'lib/n': 'n' }));
  await fixture.layers.upload(who, archive, { archiveName: 'new.zip', scope });
};
const uploaded = { 'new.py': 'new', 'lib/n': 'n' };
const execThat = (path: string, content: string) => (fixture: LayersFixture) =>
  fixture.exec(place, (folder) => writeFile(join(folder, path), content));

const cases: readonly Case[] = [
  { name: 'a first edit', change: edit, old: skill, new: edited },
  {
    name: 'another edit',
    before: edit,
    change: (fixture) => fixture.layers.editFile(place, 'lib/a.py', 'A'),
    old: edited,
    new: { ...edited, 'lib/a.py': 'A' },
  },
  {
    name: 'a deletion',
    before: edit,
    change: (fixture) => fixture.layers.deleteFile(place, 'lib'),
    old: edited,
    new: { 'SKILL.md': '# W\n', 'main.py': 'mine\n' },
  },
  {
    name: 'case 20: an upload over a skill',
    before: edit,
    change: uploadOf('overlay', place),
    old: edited,
    new: uploaded,
  },
  {
    name: 'an exec',
    before: edit,
    change: execThat('out', 'x'),
    old: edited,
    new: { ...edited, out: 'x' },
  },
  {
    name: 'deleting a skill',
    before: edit,
    change: (fixture) => fixture.layers.deleteSkill(place),
    old: edited,
    new: undefined,
  },
  {
    name: 'a sync',
    before: async (fixture) => {
      await edit(fixture);
      await fixture.layers.editFile(baselinePlace, 'lib/a.py', 'theirs');
      await fixture.layers.baseline(baselinePlace, null);
    },
    change: (fixture) => fixture.layers.sync(place),
    old: edited,
    new: { ...edited, 'lib/a.py': 'theirs' },
  },
  {
    name: 'baselining',
    before: edit,
    change: (fixture) => fixture.layers.baseline(place, null),
    old: edited,
    new: edited,
  },
];

async function viewOf(fixture: LayersFixture, who = place): Promise<Contents | undefined> {
  const listed = await fixture.layers.list(who);
  return listed.length === 0 ? undefined : fixture.contents(who);
}

/** Every file is what its hash says, in the user's view and in every version. */
async function expectSound(fixture: LayersFixture): Promise<void> {
  for (const who of [place, baselinePlace]) {
    const has = (await fixture.layers.list(who)).some(({ skillId }) => skillId === who.skillId);
    const files = has ? await fixture.layers.files(who) : [];
    for (const { path, sha256 } of files) {
      const { text } = await fixture.layers.readText(who, path);
      expect(createHash('sha256').update(text).digest('hex')).toBe(sha256);
    }
  }
  for (const { version } of await fixture.layers.versions(place)) {
    const document = JSON.parse(
      await fixture.read('skill/baseline/agent/weather/.meta', `${version}.json`),
    ) as {
      tree: { files: [string, string][] };
    };
    for (const [path, sha256] of document.tree.files) {
      const content = await readFile(join(fixture.root, 'skill/baseline/agent/weather', version, path));
      expect(createHash('sha256').update(content).digest('hex')).toBe(sha256);
    }
  }
}

describe('killed at any step', () => {
  for (const each of cases) {
    test(`${each.name}: old or new, whole, and it goes on`, async () => {
      const seen = new Set<string>();
      for (let step = 0; ; step += 1) {
        const fixture = await LayersFixture.make();
        try {
          await fixture.upload('baseline', skill);
          await fixture.layers.list(place);
          await each.before?.(fixture);
          await fixture.layers.close();
          const { reached } = await freezeAt(fixture, step);
          const done = each.change(fixture).then(() => 'done' as const);
          const outcome = await Promise.race([done, reached.then(() => 'killed' as const)]);
          await fixture.reopen({});
          const view = JSON.stringify(await viewOf(fixture));
          const [before, after] = [JSON.stringify(sorted(each.old)), JSON.stringify(sorted(each.new))];
          if (outcome === 'done') expect(view).toBe(after);
          else expect([before, after]).toContain(view);
          seen.add(view);
          await expectSound(fixture);
          await fixture.layers.editFile(at('u1', 'other'), 'x', 'x');
          await execThat('y', 'y')(fixture).catch(() => undefined);
          await fixture.layers.collectGarbage(0);
          await expectSound(fixture);
          expect(await fixture.inRoot('skill/.staging')).toEqual([]);
          if (outcome === 'done') break;
        } finally {
          await fixture.remove();
        }
      }
      expect(seen.size).toBe(JSON.stringify(sorted(each.old)) === JSON.stringify(sorted(each.new)) ? 1 : 2);
    });
  }

  test('case 20: replacing a baseline: everybody has the old or the new one', async () => {
    for (let step = 0; ; step += 1) {
      const fixture = await LayersFixture.make();
      try {
        await fixture.upload('baseline', skill);
        await fixture.layers.close();
        const { reached } = await freezeAt(fixture, step);
        const done = uploadOf('baseline', baselinePlace)(fixture).then(() => 'done' as const);
        const outcome = await Promise.race([done, reached.then(() => 'killed' as const)]);
        await fixture.reopen({});
        const view = await fixture.contents(at('fresh'));
        expect([sorted(skill), sorted(uploaded)]).toContainEqual(view);
        await expectSound(fixture);
        await uploadOf('baseline', baselinePlace)(fixture);
        expect(await fixture.contents(at('later'))).toEqual(sorted(uploaded));
        if (outcome === 'done') break;
      } finally {
        await fixture.remove();
      }
    }
  });

  test('cleaning up an idle user: what was made is live, or in the trash', async () => {
    let now = new Date('2026-01-01T00:00:00Z');
    for (let step = 0; ; step += 1) {
      const fixture = await LayersFixture.make({ now: () => now });
      try {
        now = new Date('2026-01-01T00:00:00Z');
        await fixture.upload('baseline', skill);
        await edit(fixture);
        await fixture.layers.touch(userOf('u1'));
        now = new Date('2026-01-03T00:00:00Z');
        const { reached } = await freezeAt(fixture, step);
        const done = fixture.layers.cleanUpIdle().then(() => 'done' as const);
        const outcome = await Promise.race([done, reached.then(() => 'killed' as const)]);
        await fixture.reopen({ now: () => now });
        if (JSON.stringify(await viewOf(fixture)) !== JSON.stringify(sorted(edited))) {
          const [item] = await fixture.layers.trash(place);
          await fixture.layers.restoreFromTrash(place, item?.id ?? '');
          expect(await viewOf(fixture)).toEqual(edited);
        }
        await expectSound(fixture);
        if (outcome === 'done') break;
      } finally {
        await fixture.remove();
      }
    }
  });
});

test('restoring a general sandbox, killed at any step: it is in its place or in the trash, and is restored again', async () => {
  const user = userOf('u1');
  let now = new Date('2026-01-01T00:00:00Z');
  for (let step = 0; ; step += 1) {
    now = new Date('2026-01-01T00:00:00Z');
    const fixture = await LayersFixture.make({ now: () => now });
    try {
      await fixture.layers.withSandbox(user, (folder) => writeFile(join(folder, 'f'), 'mine'));
      now = new Date('2026-01-03T00:00:00Z');
      expect(await fixture.layers.cleanUpIdle()).toMatchObject({ trashed: 1 });
      const [item] = await fixture.layers.trash(user);
      const restore = () => fixture.layers.restoreFromTrash(user, item?.id ?? '');
      const { reached } = await freezeAt(fixture, step);
      const done = restore().then(() => 'done' as const);
      const outcome = await Promise.race([done, reached.then(() => 'killed' as const)]);
      await fixture.reopen({ now: () => now });
      if ((await fixture.layers.trash(user)).length > 0) await restore();
      expect(await fixture.read('sandbox/u1/agent/f')).toBe('mine');
      expect(await fixture.layers.trash(user)).toEqual([]);
      if (outcome === 'done') break;
    } finally {
      await fixture.remove();
    }
  }
});

test('an exec that was begun before the kill is as if it had never been', async () => {
  const fixture = await LayersFixture.make();
  try {
    await fixture.upload('baseline', skill);
    const { target } = await fixture.layers.beginExec(place, newExecId());
    await writeFile(join(target, 'x'), 'x');
    await fixture.reopen();
    expect(await fixture.contents(place)).toEqual(skill);
  } finally {
    await fixture.remove();
  }
});

function sorted(contents: Contents | undefined): Contents | undefined {
  return contents && Object.fromEntries(Object.entries(contents).sort(([a], [b]) => (a < b ? -1 : 1)));
}
