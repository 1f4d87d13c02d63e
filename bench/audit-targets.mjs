/** @typedef {import('./verdicts.mjs').Verdict} Verdict */
/**
 * What was measured, as far as it was promised.
 *
 * @typedef {object} AuditFigures
 * @property {readonly { name: string, many: { p95: number }, ratio_p95: number }[]} lists
 * @property {readonly { format: string, rows_per_second: number, grown_mb: number }[]} exports
 * @property {{ exec: { p50: number }, waiting: { p50: number } }} writes
 */

const MOST_RATIO = 1.5;
/** What is quicker is quick enough, whatever it grew by. */
const SURELY_QUICK_MS = 2;
const LEAST_ROWS_PER_SECOND = 50_000;
/** The export of a million rows has gigabytes: whoever held them would need far more. */
const MOST_GROWN_MB = 50;
const MOST_WRITE_MS = 2;

/**
 * What was promised, beside what was measured.
 *
 * @param {AuditFigures} figures
 * @returns {Verdict[]}
 */
export function judgeAudit({ lists, exports, writes }) {
  return [
    ...lists.map(({ name, many, ratio_p95: grown }) => ({
      target: `list, ${name}: p95 at most ${MOST_RATIO} times that of few rows, or below ${SURELY_QUICK_MS} ms`,
      met: grown <= MOST_RATIO || many.p95 < SURELY_QUICK_MS,
      measured: `${grown} times, ${many.p95} ms`,
    })),
    ...exports.flatMap(({ format, rows_per_second: rate, grown_mb: grown }) => [
      {
        target: `export ${format}: at least ${LEAST_ROWS_PER_SECOND} rows/s`,
        met: rate >= LEAST_ROWS_PER_SECOND,
        measured: `${rate} rows/s`,
      },
      {
        target: `export ${format}: memory grows by at most ${MOST_GROWN_MB} MB`,
        met: grown <= MOST_GROWN_MB,
        measured: `${grown} MB`,
      },
    ]),
    ...Object.entries({ 'an exec': writes.exec, 'an exec that waits': writes.waiting }).map(
      ([name, { p50 }]) => ({
        target: `rows of ${name}: p50 at most ${MOST_WRITE_MS} ms`,
        met: p50 <= MOST_WRITE_MS,
        measured: `${p50} ms`,
      }),
    ),
  ];
}
