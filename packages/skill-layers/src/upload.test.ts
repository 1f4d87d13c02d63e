import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { failAt, freezeAt } from './testing/at-step.js';
import { at, LayersFixture, userOf } from './testing/layers-fixture.js';
import { zipOf } from './testing/zip-of.js';

type Scope = 'overlay' | 'baseline';
const names = ['one', 'two'] as const;

async function upload(fixture: LayersFixture, scope: Scope, word: string): Promise<void> {
  const archive = join(fixture.root, 'all.zip');
  const files = Object.fromEntries(names.map((name) => [`${name}/README.md`, word]));
  await writeFile(archive, zipOf('', files));
  await fixture.layers.upload(userOf('u1'), archive, { archiveName: 'all.zip', scope });
}

/** What there is of each skill: to the one who uploads, or to somebody who comes now. */
async function seen(fixture: LayersFixture, scope: Scope, fresh = 'fresh'): Promise<string> {
  const who = scope === 'overlay' ? 'u1' : fresh;
  const words: string[] = [];
  for (const name of names) words.push((await fixture.layers.readText(at(who, name), 'README.md')).text);
  return words.join(' ');
}

const old = 'old old';
const fresh = 'new new';

describe.each(['overlay', 'baseline'] as const)('an archive of several skills for the %s', (scope) => {
  /** Gives what was seen after it was stopped, at one step after the other until none was left to stop at. */
  async function stoppedAtEach(
    stop: (fixture: LayersFixture, step: number) => Promise<'done' | 'stopped'>,
  ): Promise<Set<string>> {
    const views = new Set<string>();
    for (let step = 0, outcome = ''; outcome !== 'done'; step += 1) {
      const fixture = await LayersFixture.make();
      try {
        await upload(fixture, scope, 'old');
        await fixture.layers.close();
        outcome = await stop(fixture, step);
        views.add(await seen(fixture, scope));
        await fixture.reopen({});
        expect(views).toContain(await seen(fixture, scope, 'later'));
        await upload(fixture, scope, 'last');
        await fixture.layers.close();
        await fixture.reopen({});
        expect(await seen(fixture, scope, 'last')).toBe('last last');
        expect(await fixture.inRoot('skill/.staging')).toEqual([]);
      } finally {
        await fixture.remove();
      }
    }
    return views;
  }

  test('is there whole or not at all when the server is killed', async () => {
    const views = await stoppedAtEach(async (fixture, step) => {
      const { reached } = await freezeAt(fixture, step);
      // With the first look at it, as there may be something left to do.
      const done = upload(fixture, scope, 'new').then(() => seen(fixture, scope));
      const outcome = await Promise.race([
        done.then(() => 'done' as const),
        reached.then(() => 'stopped' as const),
      ]);
      await fixture.reopen({});
      return outcome;
    });
    expect([...views]).toEqual([old, fresh]);
  });

  test('is there whole or not at all when the disk fails', async () => {
    const views = await stoppedAtEach(async (fixture, step) => {
      await failAt(fixture, step);
      return upload(fixture, scope, 'new')
        .then(() => seen(fixture, scope))
        .then(
          () => 'done' as const,
          () => 'stopped' as const,
        );
    });
    expect([...views]).toEqual([old, fresh]);
  });
});
