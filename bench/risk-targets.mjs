/** @typedef {import('./summary.mjs').Summary} Summary */
/** @typedef {import('./verdicts.mjs').Verdict} Verdict */
/** @typedef {{ name: string, ms: number }} Hostile */

const P95_MS = 5;
/** Until a thread's end is noticed and told. */
const ALLOWANCE_MS = 100;

/**
 * What was promised, beside what was measured. What parsing alone and dense snippets cost was promised by nobody.
 *
 * @param {readonly Summary[]} costs
 * @param {readonly Hostile[]} hostile
 * @param {number} deadlineMs
 * @returns {Verdict[]}
 */
export function judgeRisk(costs, hostile, deadlineMs) {
  const quick = costs
    .filter(({ name }) => !/ (parse|dense)$/.test(name))
    .map(({ name, p95 }) => ({
      target: `10 kB of ${name}: at most ${P95_MS} ms (p95)`,
      met: p95 <= P95_MS,
      measured: `${p95} ms`,
    }));
  const ended = hostile.map(({ name, ms }) => ({
    target: `a megabyte of ${name}: answered within ${deadlineMs} ms and ${ALLOWANCE_MS} ms`,
    met: ms <= deadlineMs + ALLOWANCE_MS,
    measured: `${ms} ms`,
  }));
  return [...quick, ...ended];
}
