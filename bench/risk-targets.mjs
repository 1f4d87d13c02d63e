/** @typedef {import('./summary.mjs').Summary} Summary */
/** @typedef {import('./verdicts.mjs').Verdict} Verdict */
/** @typedef {{ name: string, deadlineMs: number, ms: number, loopMs: number }} Hostile */

const P95_MS = 5;
/** Until a thread's end is noticed and told. */
const ALLOWANCE_MS = 100;
/** For so long the event loop may stand still beside hostile code: whoever asks the API meanwhile does not notice. */
const LOOP_MS = 50;

/**
 * What was promised, beside what was measured. What parsing alone and dense snippets cost was promised by nobody.
 *
 * @param {readonly Summary[]} costs
 * @param {readonly Hostile[]} hostile
 * @returns {Verdict[]}
 */
export function judgeRisk(costs, hostile) {
  const quick = costs
    .filter(({ name }) => !/ (parse|dense)$/.test(name))
    .map(({ name, p95 }) => ({
      target: `10 kB of ${name}: at most ${P95_MS} ms (p95)`,
      met: p95 <= P95_MS,
      measured: `${p95} ms`,
    }));
  const ended = hostile.flatMap(({ name, deadlineMs, ms, loopMs }) => [
    {
      target: `a megabyte of ${name}: answered within ${deadlineMs} ms and ${ALLOWANCE_MS} ms`,
      met: ms <= deadlineMs + ALLOWANCE_MS,
      measured: `${ms} ms`,
    },
    {
      target: `a megabyte of ${name}, deadline ${deadlineMs} ms: the event loop stands still for ${LOOP_MS} ms at most`,
      met: loopMs <= LOOP_MS,
      measured: `${loopMs} ms`,
    },
  ]);
  return [...quick, ...ended];
}
