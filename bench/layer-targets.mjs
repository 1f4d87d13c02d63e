import { judgeMedians } from './verdicts.mjs';

/** @typedef {import('./summary.mjs').Summary} Summary */
/** @typedef {import('./verdicts.mjs').Verdict} Verdict */

const MOST_MS = /** @type {const} */ ({
  'first touch': 20,
  'status of 200': 50,
  'list of 200': 50,
  'list of 10,000': 100,
  'edit of 1 MB': 10,
});
const UNZIP_SHARE = 0.5;
const PROJECT_TIMES = 1.5;

/**
 * What was promised, beside what was measured: medians, and ratios of what ran in turns. Of what was not measured nothing is said.
 *
 * @param {readonly Summary[]} results
 * @returns {Verdict[]}
 */
export function judgeLayers(results) {
  const find = (/** @type {string} */ name) => results.find((result) => result.name === name);
  const verdicts = judgeMedians(results, MOST_MS);
  const [upload, unzip] = [find('upload'), find('unzip')];
  if (upload && unzip) {
    const share = unzip.p50 / upload.p50;
    verdicts.push({
      target: `upload of an archive of 50 MB with 2,000 files: at least ${UNZIP_SHARE} times the speed of unzip`,
      met: share >= UNZIP_SHARE,
      measured: `${share.toFixed(2)} times`,
    });
  }
  const [skill, project] = [find('layered skill'), find('project')];
  if (skill && project) {
    const times = skill.p50 / project.p50;
    verdicts.push({
      target: `a warm command in a layered skill: at most ${PROJECT_TIMES} times the same in a project`,
      met: times <= PROJECT_TIMES,
      measured: `${times.toFixed(2)} times`,
    });
  }
  return verdicts;
}
