import { beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { assessCode } from '../assess-code.js';
import { isAtLeast } from '../level.js';
import { loadParses, type Parse } from '../syntax/parse.js';
import { rules } from './catalogue.js';
import type { Example, Rule } from './rule.js';

let parse: Parse;

beforeAll(async () => {
  parse = (await loadParses()).parse;
});

const all = Object.entries<Rule>(rules);
const withExample = all.flatMap(([id, { example }]): [string, Example][] => (example ? [[id, example]] : []));

describe('rules', () => {
  test.each(withExample)('%s finds its example, and not the other', (id, { language, finds, passes }) => {
    const rulesIn = (code: string) =>
      assessCode(parse, language, code).findings.map(({ rule }) => rule as string);
    expect(rulesIn(finds)).toContain(id);
    expect(rulesIn(passes)).not.toContain(id);
  });

  test('only what no piece of code can show is without an example', () => {
    const without = all.filter(([, { example }]) => !example).map(([id]) => id);
    expect(without).toEqual([
      'cannot-tell.too-large',
      'cannot-tell.timeout',
      'cannot-tell.busy',
      'cannot-tell.failed',
      'cannot-tell.nested-too-deeply',
    ]);
  });

  test('whatever cannot be told is MEDIUM at least', () => {
    for (const [id, { level }] of all) {
      if (id.startsWith('cannot-tell.')) expect(isAtLeast(level, 'MEDIUM')).toBe(true);
    }
  });

  test('docs/risk.md has a row for each rule, in the same order', () => {
    const page = readFileSync(new URL('../../../../docs/risk.md', import.meta.url), 'utf8');
    const rows = page
      .split('\n')
      .filter((line) => /^\| `[a-z-]+\.[a-z-]+`/.test(line))
      .map(cellsOf);
    expect(rows).toEqual(all.map(([id, rule]) => rowOf(id, rule)));
  });
});

/** Formatters may pad a table; what is in its cells is ours. */
function cellsOf(line: string): readonly string[] {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}

function rowOf(id: string, { level, title, why, example }: Rule): readonly string[] {
  const shown = (code: string | undefined) =>
    code === undefined
      ? ''
      : `\`${(code.length > 200 ? `${code.slice(0, 40)}…` : code).replaceAll('\0', '␀').replaceAll('|', '\\|').replace(/\n\s*/g, '; ')}\``;
  return [`\`${id}\``, level, title, why, shown(example?.finds), shown(example?.passes)];
}
