import { expect, test } from '@jest/globals';
import { judgeLoad, type LoadFigures } from '../../bench/load-targets.mjs';

const good: LoadFigures = {
  lists: { asked: 200, answered: 190 },
  failures: 0,
  grownMb: 50,
  execs: { alone: { name: '', p50: 100, p95: 200 }, beside: { name: '', p50: 200, p95: 400 } },
};
const missed = (more: Partial<LoadFigures>) =>
  judgeLoad({ ...good, ...more })
    .filter(({ met }) => !met)
    .map(({ target, measured }) => `${target}: ${measured}`);

test('what was promised of lists beside execs is judged, each at p50 and at p95', () => {
  expect(judgeLoad(good)).toHaveLength(5);
  expect(missed({})).toEqual([]);
  expect(missed({ lists: { asked: 200, answered: 189 } })).toEqual([expect.stringContaining('answered')]);
  expect(missed({ failures: 1 })).toEqual(['no failure: 1']);
  expect(missed({ grownMb: 50.1 })).toEqual([expect.stringContaining('memory')]);
  const { alone } = good.execs;
  for (const [share, beside] of [
    ['p50', { name: '', p50: 202, p95: 400 }],
    ['p95', { name: '', p50: 200, p95: 404 }],
  ] as const) {
    expect(missed({ execs: { alone, beside } })).toEqual([
      expect.stringMatching(new RegExp(`^execs beside lists: ${share} .*: 2\\.02 times`)),
    ]);
  }
});
