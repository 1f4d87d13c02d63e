import { expect, test } from '@jest/globals';
import { judgeAudit } from '../../bench/audit-targets.mjs';

const good = {
  lists: [
    { name: 'no filter', many: { p95: 9 }, ratio_p95: 1.5 },
    { name: 'rare word', many: { p95: 1.9 }, ratio_p95: 7 },
  ],
  exports: [{ format: 'jsonl', rows_per_second: 50_000, grown_mb: 50 }],
  writes: { exec: { p50: 2 }, waiting: { p50: 1 } },
};
const missed = (figures: typeof good) =>
  judgeAudit(figures)
    .filter(({ met }) => !met)
    .map(({ target }) => target);

test('what was promised of lists, exports and writes is judged', () => {
  expect(judgeAudit(good)).toHaveLength(6);
  expect(missed(good)).toEqual([]);
  const list = { name: 'status', many: { p95: 2 }, ratio_p95: 1.51 };
  expect(missed({ ...good, lists: [list] })).toEqual([expect.stringContaining('status')]);
  const slow = { format: 'csv', rows_per_second: 49_999, grown_mb: 51 };
  expect(missed({ ...good, exports: [slow] })).toHaveLength(2);
  const writes = { exec: { p50: 2.01 }, waiting: { p50: 2.01 } };
  expect(missed({ ...good, writes })).toHaveLength(2);
});
