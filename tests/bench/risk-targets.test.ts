import { expect, test } from '@jest/globals';
import { judgeRisk } from '../../bench/risk-targets.mjs';

const met = (p95: number, ms: number) =>
  judgeRisk(
    [
      { name: 'python', p50: 1, p95 },
      { name: 'python parse', p50: 9, p95: 9 },
    ],
    [{ name: 'open parentheses', ms }],
    500,
  ).map((verdict) => verdict.met);

test('5 ms for 10 kB, and the deadline with an allowance for hostile code; parsing alone is told only', () => {
  expect(met(5, 600)).toEqual([true, true]);
  expect(met(5.1, 601)).toEqual([false, false]);
  expect(judgeRisk([], [], 500)).toEqual([]);
});
