import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { failuresOnly, readScore } from '../jest-run.mjs';

const report = {
  success: true,
  numTotalTests: 3,
  numPassedTests: 3,
  numFailedTests: 0,
  numRuntimeErrorTestSuites: 0,
  numPendingTests: 0,
};

test.each([
  ['all passed', report, 3, 0],
  ['one failed', { ...report, success: false, numPassedTests: 2, numFailedTests: 1 }, 2, 1],
  ['a file that does not load', { ...report, success: false, numRuntimeErrorTestSuites: 1 }, 3, 1],
  ['no tests', { ...report, success: true, numTotalTests: 0, numPassedTests: 0 }, 0, 1],
  ['jest itself says no', { ...report, success: false }, 3, 1],
  ['no report', undefined, 0, 1],
])('%s', async (_, content, passed, failed) => {
  const folder = await mkdtemp(join(tmpdir(), 'score-'));
  try {
    const file = join(folder, 'jest.json');
    if (content !== undefined) await writeFile(file, JSON.stringify(content));
    expect(readScore(file)).toMatchObject({ passed, failed });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('what failed is told whole, once, and as soon as it is known', () => {
  const told: string[] = [];
  const tell = failuresOnly((line) => told.push(line));
  const block = (name: string) => [`FAIL docker ${name}`, `  ● ${name} › breaks`, '', '    at line 1'];
  const printed = ['PASS unit a', ...block('b'), 'PASS unit c', 'console.log', ...block('d')];
  for (const line of printed) tell(line);
  expect(told).toEqual([...block('b'), ...block('d')]);
  for (const line of ['Summary of all failing tests', '  ● b › breaks', '', 'Test Suites: 2 failed'])
    tell(line);
  expect(told.slice(8)).toEqual(['Test Suites: 2 failed']);
});
