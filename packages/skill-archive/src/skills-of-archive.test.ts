import { describe, expect, test } from '@jest/globals';
import type { PlacedEntry } from './entry-paths.js';
import { skillsOf } from './skills-of-archive.js';

const entry = { rawName: Buffer.alloc(0) } as never;
const placed = (names: readonly string[]): PlacedEntry[] =>
  names.map((name) =>
    name.endsWith('/')
      ? { kind: 'folder', path: name.slice(0, -1).split('/') }
      : { kind: 'file', path: name.split('/'), entry },
  );
const arrange = (...names: string[]) =>
  Object.fromEntries(
    skillsOf(placed(names), 'C:\\dir\\pack.ZIP').map(({ skillId, entries }) => [
      skillId,
      entries.map(({ path }) => path.join('/')),
    ]),
  );

describe('the skills of an archive', () => {
  test.each([
    ['a single folder is the skill', ['a/x', 'a/b/y'], { a: ['x', 'b/y'] }],
    [
      'files at the top are the skill named as the archive',
      ['SKILL.md', 'lib/x'],
      { pack: ['SKILL.md', 'lib/x'] },
    ],
    ['folders without signs too', ['src/x', 'lib/y'], { pack: ['src/x', 'lib/y'] }],
    [
      'several folders with signs',
      ['a/SKILL.md', 'b/README.md', 'b/x'],
      { a: ['SKILL.md'], b: ['README.md', 'x'] },
    ],
    ['A/A/ is A', ['a/a/x', 'a/a/y'], { a: ['x', 'y'] }],
    ['A/A/A/ too', ['a/a/a/x'], { a: ['x'] }],
    ['A/A/ beside a file stays', ['a/a/x', 'a/y'], { a: ['a/x', 'y'] }],
    ['A/B/ stays', ['a/b/x'], { a: ['b/x'] }],
    ['several, each in itself', ['a/a/SKILL.md', 'b/SKILL.md'], { a: ['SKILL.md'], b: ['SKILL.md'] }],
    ['skills/ around them', ['skills/a/SKILL.md', 'skills/b/skill.md'], { a: ['SKILL.md'], b: ['skill.md'] }],
    ['a skill that is called skills', ['skills/main.py'], { skills: ['main.py'] }],
    ['an empty folder is kept', ['a/x', 'a/out/'], { a: ['x', 'out'] }],
  ])('%s', (_, names, expected) => expect(arrange(...names)).toEqual(expected));

  test('a folder whose name is no id is refused', () => {
    expect(() => arrange('-x/y')).toThrow(/skillId/);
    expect(() => arrange('.x/y')).toThrow(/skillId/);
  });
});
