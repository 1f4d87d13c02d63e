/** @typedef {import('./summary.mjs').Summary} Summary */
/** @typedef {{ target: string, met: boolean, measured: string }} Verdict */

/**
 * Medians against the milliseconds that were promised of them. Of what was not measured nothing is said.
 *
 * @param {readonly Summary[]} results
 * @param {Readonly<Record<string, number>>} mostMs
 * @returns {Verdict[]}
 */
export function judgeMedians(results, mostMs) {
  return results.flatMap(({ name, p50 }) => {
    const most = mostMs[name];
    if (most === undefined) return [];
    return [{ target: `${name}: at most ${most} ms`, met: p50 <= most, measured: `${p50} ms` }];
  });
}

/**
 * Prints them; gives what the command exits with.
 *
 * @param {readonly Verdict[]} verdicts
 * @returns {0 | 1}
 */
export function tell(verdicts) {
  for (const { target, met, measured } of verdicts) {
    process.stdout.write(`${met ? 'met   ' : 'MISSED'}  ${target}: ${measured}\n`);
  }
  return verdicts.every(({ met }) => met) ? 0 : 1;
}
