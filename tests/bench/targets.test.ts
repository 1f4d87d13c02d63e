import { describe, expect, test } from '@jest/globals';
import { Figures, type Contest } from '../../bench/speed/figures.mjs';
import { programs } from '../../bench/speed/programs.mjs';
import { tableOf } from '../../bench/speed/report.mjs';
import { judge, percent } from '../../bench/speed/targets.mjs';

/** Results as a run would leave them, all of one contest taking the same time. */
function resultsOf(
  contests: readonly (Contest & { readonly ms: number; readonly warm?: readonly boolean[] })[],
) {
  const figures = new Figures();
  for (const { ms, warm, ...contest } of contests) {
    const row = figures.row(contest);
    row.times.push(...(warm ?? [true]).map(() => ms));
    if (warm) row.warm = warm.filter(Boolean).length;
  }
  return figures;
}

const metBy = (figures: Figures) =>
  Object.fromEntries(judge(figures.results(() => undefined)).map(({ target, met }) => [target, met]));

const python = programs.python.name;
const bash = programs.bash.name;

describe('the targets', () => {
  test('of what was not measured nothing is said', () => {
    expect(judge([])).toEqual([]);
  });

  test.each([
    { warm: 20, expected: [true, true, true] },
    { warm: 26, expected: [false, false, true] },
    { warm: 260, expected: [false, false, true] },
  ])(
    'python that takes $warm ms, beside docker run with 300 and a bare host with 15',
    ({ warm, expected }) => {
      const others = { section: 'others', program: python };
      const met = metBy(
        resultsOf([
          { ...others, contestant: 'warm', gap: 1000, ms: warm },
          { ...others, contestant: 'bare host', ms: 15 },
          { ...others, contestant: 'docker run', ms: 300 },
          { ...others, contestant: 'cold', ms: 300 },
        ]),
      );
      expect(Object.values(met)).toEqual(expected);
    },
  );

  test('one cold exec among many misses', () => {
    const gaps = { section: 'gaps', program: bash, contestant: 'warm', gap: 250 };
    const share = [...Array.from({ length: 99 }, () => true), false];
    expect(metBy(resultsOf([{ ...gaps, ms: 10, warm: share }]))).toEqual({ '250 ms gaps: all warm': false });
  });

  test.each([
    ['as fast as cold', { ms: 100, latest: 1 }, true],
    ['slower in the middle', { ms: 101, latest: 0.9 }, false],
    ['later with one answer of a row', { ms: 50, latest: 1.01 }, false],
  ])('without gaps, %s', (_what, { ms, latest }, met) => {
    const row = { section: 'gaps', program: 'the whole row', gap: 0 };
    const figures = resultsOf([
      { ...row, contestant: 'warm', ms },
      { ...row, contestant: 'cold', ms: 100 },
    ]);
    figures.row({ ...row, contestant: 'warm' }).latest = latest;
    expect(metBy(figures)).toEqual({ 'no gaps: never slower than cold': met });
  });

  test.each([
    [15, true],
    [16, false],
  ])('of a cold exec %d ms are not the engine’s', async (own, met) => {
    const figures = new Figures();
    const cold = { section: 'others', program: bash, contestant: 'cold' };
    await figures.measure(cold, () => Promise.resolve({ warm: false, execId: 'a' }));
    const [{ p50 } = { p50: 0 }] = figures.results(() => undefined);
    const [verdict, ...more] = judge(figures.results(() => p50 - own));
    expect([verdict?.target, verdict?.met, more]).toEqual([
      "cold: at most 15 ms are not the engine's",
      met,
      [],
    ]);
  });

  test.each([
    [{ ms: 40, warm: [true, true] }, true],
    [{ ms: 41, warm: [true, true] }, false],
    [{ ms: 20, warm: [true, false] }, false],
  ])('a new project that is like %j, beside a busy one with 20 ms', (own, met) => {
    const projects = { section: 'projects', program: python };
    const figures = resultsOf([
      { ...projects, contestant: 'busy', ms: 20, warm: [true] },
      { ...projects, contestant: 'new', ...own },
    ]);
    expect(Object.values(metBy(figures))).toEqual([met]);
  });

  test('a rate is met only when nothing failed', async () => {
    const sustained = { section: 'sustained', program: python };
    const figures = resultsOf([
      { ...sustained, contestant: 'API, 8 at once', ms: 900 },
      { ...sustained, contestant: 'engine alone, 8 at once', ms: 900 },
    ]);
    const api = { ...sustained, contestant: 'API, 8 at once' };
    figures.row(api).perSecond = 8;
    figures.row({ ...sustained, contestant: 'engine alone, 8 at once' }).perSecond = 10;
    expect(Object.values(metBy(figures))).toEqual([true]);
    await figures.measure(api, () => Promise.reject(new Error('no answer')));
    expect(Object.values(metBy(figures))).toEqual([false]);
    expect(figures.failures).toEqual([`API, 8 at once, ${python}: no answer`]);
  });
});

test('a share that is nearly all does not look like all', () => {
  expect([percent(1), percent(0.9999), percent(0)]).toEqual(['100 %', '99.9 %', '0 %']);
});

test('the table has a line for each contest, and the part that was not the engine’s', async () => {
  const figures = new Figures();
  const contest = { section: 'gaps', contestant: 'warm', program: bash, gap: 250 };
  await figures.measure(contest, () => Promise.resolve({ warm: true, execId: 'a' }));
  const [result] = figures.results(() => -5);
  expect(result).toMatchObject({ n: 1, warm_share: 1, failed: 0 });
  expect(result?.own_p50).toBeCloseTo((result?.p50 ?? 0) + 5, 0);
  const [head = '', , line = '', ...more] = tableOf(result ? [result] : []).split('\n');
  expect(head).toContain('p50 ms');
  expect(line).toMatch(/^\| gaps: warm \| bash -lc 'echo 1' \|\s+250 \|\s+1 \|.*100 %/);
  expect(line).toHaveLength(head.length);
  expect(more).toEqual([]);
});
