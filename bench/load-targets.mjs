import { ratio } from './summary.mjs';

/** @typedef {import('./summary.mjs').Summary} Summary */
/** @typedef {import('./verdicts.mjs').Verdict} Verdict */
/**
 * What was measured, as far as it was promised.
 *
 * @typedef {object} LoadFigures
 * @property {{ asked: number, answered: number }} lists a second
 * @property {number} failures of lists and execs
 * @property {number} grownMb
 * @property {{ alone: Summary, beside: Summary }} execs
 */

const LEAST_ANSWERED = 0.95;
const MOST_GROWN_MB = 50;
const MOST_RATIO = 2;

/**
 * What was promised, beside what was measured.
 *
 * @param {LoadFigures} figures
 * @returns {Verdict[]}
 */
export function judgeLoad({ lists: { asked, answered }, failures, grownMb, execs: { alone, beside } }) {
  return [
    {
      target: `lists: at least ${100 * LEAST_ANSWERED} of 100 answered`,
      met: answered >= asked * LEAST_ANSWERED,
      measured: `${answered.toFixed(0)} a second, of ${asked}`,
    },
    { target: 'no failure', met: failures === 0, measured: String(failures) },
    {
      target: `memory: at most ${MOST_GROWN_MB} MB gained`,
      met: grownMb <= MOST_GROWN_MB,
      measured: `${grownMb.toFixed(0)} MB`,
    },
    .../** @type {const} */ (['p50', 'p95']).map((share) => {
      const grown = ratio(beside[share], alone[share]);
      return {
        target: `execs beside lists: ${share} at most ${MOST_RATIO} times that without`,
        met: grown <= MOST_RATIO,
        measured: `${grown} times, ${beside[share]} ms`,
      };
    }),
  ];
}
