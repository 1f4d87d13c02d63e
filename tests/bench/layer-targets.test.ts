import { expect, test } from '@jest/globals';
import { judgeLayers } from '../../bench/layer-targets.mjs';
import { summarize } from '../../bench/summary.mjs';

const metBy = (times: Readonly<Record<string, readonly number[]>>) =>
  judgeLayers(Object.entries(times).map(([name, each]) => summarize(name, each))).map(({ met }) => met);

test('of what was not measured nothing is said', () => {
  expect(judgeLayers([])).toEqual([]);
});

test('times are judged by their median', () => {
  expect(metBy({ 'first touch': [10, 20, 90], 'edit of 1 MB': [5, 10.1, 50] })).toEqual([true, false]);
  expect(metBy({ 'status of 200': [51], 'list of 200': [51] })).toEqual([false, false]);
});

test('an upload is judged beside unzip, and a command in a skill beside one in a project', () => {
  expect(metBy({ upload: [1000], unzip: [500] })).toEqual([true]);
  expect(metBy({ upload: [1000], unzip: [490] })).toEqual([false]);
  expect(metBy({ 'layered skill': [30], project: [20] })).toEqual([true]);
  expect(metBy({ 'layered skill': [31], project: [20] })).toEqual([false]);
});
