import { expect, test } from '@jest/globals';
import { judgeRisk } from '../../bench/risk-targets.mjs';

const met = (p95: number, ms: number, loopMs: number) =>
  judgeRisk(
    [
      { name: 'python', p50: 1, p95 },
      { name: 'python parse', p50: 9, p95: 9 },
    ],
    [{ name: 'open parentheses', deadlineMs: 500, ms, loopMs }],
  ).map((verdict) => verdict.met);

test('5 ms for 10 kB, and for hostile code the deadline with an allowance and a loop that turns; parsing alone is told only', () => {
  expect(met(5, 600, 50)).toEqual([true, true, true]);
  expect(met(5.1, 601, 51)).toEqual([false, false, false]);
  expect(judgeRisk([], [])).toEqual([]);
});
