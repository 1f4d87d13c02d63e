import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseJson } from '../docker/setup/json.mjs';
import { runProgram } from '../docker/setup/run-program.mjs';

/**
 * @typedef {object} JestReport the fields of jest's --json that we look at
 * @property {boolean} success
 * @property {number} numTotalTests
 * @property {number} numPassedTests
 * @property {number} numFailedTests
 * @property {number} numRuntimeErrorTestSuites files that could not even be loaded
 * @property {number} numPendingTests
 */

/**
 * @param {import('./static-checks.mjs').CheckOptions & {
 *   layer: string | undefined,
 *   jestArguments: readonly string[],
 * }} options env must hold a TMPDIR of this run's own
 * @returns {Promise<{ passed: number, failed: number }>}
 */
export async function runJest({ root, env, signal, progress, layer, jestArguments }) {
  const report = path.join(env['TMPDIR'] ?? '', 'jest.json');
  const args = [
    '--experimental-vm-modules',
    path.join(root, 'node_modules', 'jest', 'bin', 'jest.js'),
    // First: jest would read a file name that follows --selectProjects as one more project.
    ...jestArguments,
    '--json',
    `--outputFile=${report}`,
    ...(layer === undefined ? [] : ['--selectProjects', layer]),
  ];
  const step = progress.step('tests');
  step.say('running');
  const files = { done: 0 };
  // One layer is run by someone who wants to watch it.
  const tell = layer === undefined ? failuresOnly(progress.note) : progress.note;
  await runProgram(process.execPath, args, {
    cwd: root,
    env,
    signal,
    onLine(line) {
      tell(line);
      if (!/^(PASS|FAIL) /.test(line)) return;
      files.done += 1;
      step.say(`running: ${files.done} files done`);
    },
  });
  const score = readScore(report);
  if (score.failed === 0) {
    step.done(`${score.passed} passed${score.skipped === 0 ? '' : `, ${score.skipped} skipped`}`);
  } else {
    step.failed();
    progress.note(score.reason);
  }
  return score;
}

/**
 * Of what jest prints, each file that failed, whole and at once, and its account at the end.
 *
 * @param {(line: string) => void} tell
 * @returns {(line: string) => void}
 */
export function failuresOnly(tell) {
  const telling = { now: false };
  return (line) => {
    // The summary says all failures a second time.
    if (/^(PASS |Summary of all failing tests)/.test(line)) telling.now = false;
    else if (/^(FAIL |Test Suites: )/.test(line)) telling.now = true;
    if (telling.now) tell(line);
  };
}

/**
 * @param {string} file
 * @returns {{ passed: number, failed: number, skipped: number, reason: string }}
 */
export function readScore(file) {
  if (!existsSync(file)) return { passed: 0, failed: 1, skipped: 0, reason: 'jest ended without a report' };
  const report = /** @type {JestReport} */ (parseJson(readFileSync(file, 'utf8')));
  const failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
  const { numPassedTests: passed, numPendingTests: skipped } = report;
  if (failed > 0) return { passed, failed, skipped, reason: '' };
  if (report.numTotalTests === 0) return { passed, failed: 1, skipped, reason: 'No tests were found.' };
  // For example a threshold that was missed: jest says no though each test passed.
  return { passed, failed: report.success ? 0 : 1, skipped, reason: report.success ? '' : 'jest failed' };
}
