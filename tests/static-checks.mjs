import path from 'node:path';
import { runProgram } from '../docker/setup/run-program.mjs';

/**
 * Each of these is a program of node_modules, run over the whole repository.
 *
 * @type {readonly { name: string, script: string, args: readonly string[] }[]}
 */
const CHECKS = [
  { name: 'format', script: 'prettier/bin/prettier.cjs', args: ['--check', '--log-level', 'warn', '.'] },
  { name: 'lint', script: 'eslint/bin/eslint.js', args: ['--max-warnings', '0', '.'] },
  { name: 'types', script: 'typescript/bin/tsc', args: ['-b', '--pretty', 'false'] },
  {
    name: 'imports',
    script: 'dependency-cruiser/bin/dependency-cruise.mjs',
    args: ['apps', 'packages', 'migrations', '--config', '.dependency-cruiser.cjs'],
  },
];

/**
 * @typedef {object} CheckOptions
 * @property {string} root
 * @property {NodeJS.ProcessEnv} env
 * @property {AbortSignal} signal
 * @property {import('../docker/setup/progress.mjs').Progress} progress
 */

/**
 * @param {CheckOptions} options
 * @returns {Promise<{ passed: number, failed: number }>}
 */
export async function runStaticChecks(options) {
  const results = await Promise.all(CHECKS.map((check) => runCheck(check, options)));
  const passed = results.filter((good) => good).length;
  return { passed, failed: results.length - passed };
}

/**
 * @param {(typeof CHECKS)[number]} check
 * @param {CheckOptions} options
 */
async function runCheck({ name, script, args }, { root, env, signal, progress }) {
  const step = progress.step(name);
  step.say('checking');
  const program = path.join(root, 'node_modules', script);
  const { code, lines } = await runProgram(process.execPath, [program, ...args], {
    cwd: root,
    env,
    signal,
    keptLines: 2_000,
  });
  if (code === 0) {
    step.done('good');
    return true;
  }
  step.failed();
  progress.note(lines.join('\n'));
  return false;
}
