import { expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';

/** The security cases that are owed so far, by the suite that shows them from outside. */
const owed: Readonly<Record<string, readonly number[]>> = {
  'paths.docker.test.ts': [1, 2, 7],
  'file-calls.http.test.ts': [1, 2, 3, 4, 5, 6, 7, 8, 9],
  'uploads.http.test.ts': [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20],
  'artifacts.docker.test.ts': [21, 22, 23, 24, 25, 26, 27, 28],
  'inside-the-container.docker.test.ts': [30, 31, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45],
  'flat-memory.docker.test.ts': [34],
  'commands.docker.test.ts': [52],
  'policy.docker.test.ts': [46, 47, 48, 49, 50],
  'access.http.test.ts': [53, 54, 55, 61, 62, 67],
  'hostile-requests.http.test.ts': [56, 57, 58, 59, 60],
  'audit.docker.test.ts': [66, 67, 68],
  'failures.docker.test.ts': [65, 69],
  'approvals.docker.test.ts': [70, 71, 72, 73, 74],
};

/** Those that suites beside them show, in tests whose names end with their cases. */
const shownBeside: Readonly<Record<string, readonly number[]>> = {
  'audit/artifacts.docker.test.ts': [29],
  'disk/work-disk.docker.test.ts': [33],
  'exec/engine-trouble.docker.test.ts': [64],
  'exec/hardening.docker.test.ts': [32],
  'lifecycle/crash.docker.test.ts': [63],
  'skills/invoking.docker.test.ts': [51],
};

const cases = 74;
const folder = new URL('../cases/', import.meta.url);
const suites = readdirSync(folder).filter((name) => name.endsWith('.test.ts'));

test('every suite of cases is in the list', () => {
  expect(suites.sort()).toEqual(Object.keys(owed).sort());
});

test('every case is shown by a suite', () => {
  const shown = new Set([...Object.values(owed), ...Object.values(shownBeside)].flat());
  expect([...shown].sort((a, b) => a - b)).toEqual(Array.from({ length: cases }, (_, n) => n + 1));
});

test.each(suites)('every test of %s is named by a case that it owes, and each of these has one', (suite) => {
  const source = readFileSync(new URL(suite, folder), 'utf8');
  const shown = [...source.matchAll(/['"`]case (\d+): /g)].map(([, number]) => Number(number));
  expect([...new Set(shown)].sort((a, b) => a - b)).toEqual(owed[suite]);
  expect(shown).toHaveLength([...source.matchAll(/^ *test(?:\.each)?\(/gm)].length);
});

test.each(Object.entries(shownBeside))('%s shows the cases %p', (suite, numbers) => {
  const source = readFileSync(new URL(suite, new URL('../', folder)), 'utf8');
  const shown = [...source.matchAll(/\(cases? ([\d, ]+)\)['"`]/g)].flatMap(([, named = '']) =>
    named.split(', ').map(Number),
  );
  expect(shown).toEqual(expect.arrayContaining([...numbers]));
});
