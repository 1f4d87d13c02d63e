import { judgeMedians } from './verdicts.mjs';

/** @typedef {import('./summary.mjs').Summary} Summary */
/** @typedef {import('./verdicts.mjs').Verdict} Verdict */

const MOST_MS = /** @type {const} */ ({ 'load 1000': 1000, 'reload one': 50, 'write to swap': 50 });
const MOST_MORE_MS = 5;

/**
 * What was promised, beside what was measured: medians, of an invocation the difference to the same exec. Of what was not measured nothing is said.
 *
 * @param {readonly Summary[]} summaries
 * @returns {Verdict[]}
 */
export function judgeInvoke(summaries) {
  const verdicts = judgeMedians(summaries, MOST_MS);
  for (const name of ['invoke', 'invoke, alone']) {
    const more = moreThanExec(name, summaries);
    if (more === undefined) continue;
    const target = `${name}: at most ${MOST_MORE_MS} ms more than the same exec`;
    verdicts.push({ target, met: more <= MOST_MORE_MS, measured: `${more} ms` });
  }
  return verdicts;
}

/**
 * How much longer an invocation takes than the exec that ran in turns with it, both with or both without the time of the program.
 *
 * @param {string} name
 * @param {readonly Summary[]} summaries
 * @returns {number | undefined} in milliseconds
 */
export function moreThanExec(name, summaries) {
  const same = name.endsWith(': beside') ? 'exec: beside' : 'exec';
  const [ours, theirs] = [name, same].map((each) => summaries.find((summary) => summary.name === each)?.p50);
  return ours === undefined || theirs === undefined ? undefined : Math.round((ours - theirs) * 10) / 10;
}
