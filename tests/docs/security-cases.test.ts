import { expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';

/** The security cases that the exec core owes, by the suite that shows them from outside. */
const owed: Readonly<Record<string, readonly number[]>> = {
  'paths.docker.test.ts': [1, 2, 7],
  'artifacts.docker.test.ts': [21, 22, 23, 24, 25, 26, 27, 28],
  'inside-the-container.docker.test.ts': [30, 31, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45],
  'flat-memory.docker.test.ts': [34],
  'policy.docker.test.ts': [46, 47, 48, 49, 50],
  'audit.docker.test.ts': [66, 67],
};

const folder = new URL('../cases/', import.meta.url);
const suites = readdirSync(folder).filter((name) => name.endsWith('.test.ts'));

test('every suite of cases is in the list', () => {
  expect(suites.sort()).toEqual(Object.keys(owed).sort());
});

test.each(suites)('every test of %s is named by a case that it owes, and each of these has one', (suite) => {
  const source = readFileSync(new URL(suite, folder), 'utf8');
  const shown = [...source.matchAll(/['"`]case (\d+): /g)].map(([, number]) => Number(number));
  expect([...new Set(shown)].sort((a, b) => a - b)).toEqual(owed[suite]);
  expect(shown).toHaveLength([...source.matchAll(/^ *test(?:\.each)?\(/gm)].length);
});
