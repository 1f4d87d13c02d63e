import { describe, expect, test } from '@jest/globals';
import { metadataOf } from './skill-metadata.js';

const of = (files: Record<string, string>) => metadataOf(new Map(Object.entries(files)), 'folder');
const none = 'No description available.';

describe('metadata of a skill', () => {
  test.each([
    ['front matter', { 'SKILL.md': '---\nname: 天气\ndescription: "a: b"\n---\n# T' }, '天气', 'a: b'],
    ['of Windows, with a mark', { 'SKILL.md': '\uFEFF---\r\nname: n\r\n---\r\n' }, 'n', none],
    [
      'over several lines',
      { 'SKILL.md': '---\nname: n\ndescription: >\n  one\n  two\n---\n' },
      'n',
      'one two',
    ],
    ['half of it, then the heading', { 'SKILL.md': '---\ndescription: d\n---\n# T' }, 'T', 'd'],
    ['the heading', { 'SKILL.md': 'intro\n\n# The *title* ##\n# other' }, 'The *title*', none],
    ['not in code', { 'README.md': '```\n# no\n```\n# yes' }, 'yes', none],
    ['skill.md before README.md', { 'README.md': '# b', 'skill.md': '# a' }, 'a', none],
    ['README.md when the other has none', { 'README.md': '# b', 'SKILL.md': 'x' }, 'b', none],
    ['nothing', {}, 'folder', none],
    ['no heading of that level', { 'README.md': '## a\n#b' }, 'folder', none],
    ['broken front matter', { 'SKILL.md': '---\nname: [\n---\n# T' }, 'T', none],
    ['of another shape', { 'SKILL.md': '---\n- 1\n---\n# T' }, 'T', none],
    ['values of another type', { 'SKILL.md': '---\nname: {a: 1}\ndescription: 5\n---\n' }, 'folder', '5'],
    ['control characters', { 'SKILL.md': '---\nname: "a\\eb\\nc"\n---\n' }, 'a b c', none],
    ['a tag that would make something', { 'SKILL.md': '---\nname: !!js/function "x"\n---\n' }, 'x', none],
    ['a key of every object', { 'SKILL.md': '---\n__proto__: {name: x}\n---\n' }, 'folder', none],
  ])('%s', (_, files, name, description) => expect(of(files as never)).toEqual({ name, description }));

  test('aliases that would grow without end are not expanded', () => {
    const lines = ['a: &a [x, x, x, x, x, x, x, x, x]'];
    for (let n = 1; n < 9; n += 1) {
      const before = String.fromCharCode(96 + n);
      lines.push(
        `${String.fromCharCode(97 + n)}: &${String.fromCharCode(97 + n)} [${`*${before}, `.repeat(9)}]`,
      );
    }
    const begun = performance.now();
    expect(of({ 'SKILL.md': `---\n${lines.join('\n')}\nname: *i\n---\n` })).toEqual({
      name: 'folder',
      description: none,
    });
    expect(performance.now() - begun).toBeLessThan(2_000);
  });

  test('long lines of blanks and signs take no time', () => {
    const begun = performance.now();
    of({ 'SKILL.md': `# ${' '.repeat(60_000)}#`.repeat(2), 'README.md': `# ${' #'.repeat(30_000)}x` });
    of({ 'SKILL.md': `---\n${'\n'.repeat(60_000)}` });
    expect(performance.now() - begun).toBeLessThan(2_000);
  });

  test('long values are cut', () => {
    const { name, description } = of({
      'SKILL.md': `---\nname: ${'😀'.repeat(300)}\ndescription: ${'d'.repeat(5000)}\n---\n`,
    });
    expect(Array.from(name)).toHaveLength(200);
    expect(description).toHaveLength(2000);
  });
});
