import { expect, test } from '@jest/globals';
import { judgeInvoke } from '../../bench/invoke-targets.mjs';
import { summarize } from '../../bench/summary.mjs';

const metBy = (times: Readonly<Record<string, readonly number[]>>) =>
  judgeInvoke(Object.entries(times).map(([name, each]) => summarize(name, each))).map(({ met }) => met);

test('of what was not measured nothing is said', () => {
  expect(judgeInvoke([])).toEqual([]);
  expect(metBy({ 'load 10': [1], exec: [50], 'exec: beside': [5] })).toEqual([]);
});

test('loading and reloading are judged by their medians', () => {
  expect(metBy({ 'load 1000': [400, 1000, 2000], 'reload one': [1, 50, 90] })).toEqual([true, true]);
  expect(metBy({ 'load 1000': [1000.1], 'reload one': [50.1], 'write to swap': [51] })).toEqual([
    false,
    false,
    false,
  ]);
});

test('an invocation is judged beside the same exec', () => {
  expect(metBy({ exec: [50], invoke: [55], 'invoke, alone': [55.1] })).toEqual([true, false]);
  expect(metBy({ exec: [50], invoke: [40] })).toEqual([true]);
});
