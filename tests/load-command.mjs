import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { compileService } from '../docker/setup/compile.mjs';
import { Failure, runCommand } from '../docker/setup/failure.mjs';
import { prepareAll } from '../docker/setup/prepare.mjs';
import { createProgress } from '../docker/setup/progress.mjs';
import { runProgram } from '../docker/setup/run-program.mjs';
import { engineEnvironment, mountsEnvironment } from '../docker/setup/serve.mjs';
import { repositoryRoot } from '../docker/setup/settings.mjs';
import { endLeaks } from './leaks.mjs';

/**
 * Runs a suite that npm test runs small, at the size and from the seed that are asked for.
 *
 * @param {{ help: string, suite: string, size: { option: 'execs' | 'seconds', usual: number }, variables: string }} command
 *   `variables` is what the names of the suite's variables begin with
 */
export async function loadCommand({ help, suite, size: { option, usual }, variables }) {
  await runCommand(async (signal) => {
    const { values } = parseArgs({
      options: {
        [option]: { type: 'string' },
        seed: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    if (values['help'] === true) {
      process.stdout.write(help);
      return 0;
    }
    const given = (/** @type {string} */ name) => {
      const value = values[name];
      return typeof value === 'string' ? value : undefined;
    };
    const size = wholeNumber(`--${option}`, given(option) ?? String(usual));
    const seed = wholeNumber('--seed', given('seed') ?? String(Date.now() % 1_000_000));

    const { env } = process;
    const progress = createProgress({ stream: process.stdout, env });
    const engine = await prepareAll({ env, signal, progress });
    await compileService({ root: repositoryRoot, env, signal, say: () => undefined });
    progress.close();
    process.stdout.write(`${size} ${option}, seed ${seed}\n`);

    const temporary = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'sbt-')));
    chmodSync(temporary, 0o711);
    /** @type {string[]} */
    let left = [];
    let code;
    try {
      const jest = path.join(repositoryRoot, 'node_modules', 'jest', 'bin', 'jest.js');
      const args = ['--experimental-vm-modules', jest, suite, '--selectProjects', 'docker'];
      ({ code } = await runProgram(process.execPath, args, {
        cwd: repositoryRoot,
        env: {
          ...env,
          ...engineEnvironment(engine.endpoint),
          ...mountsEnvironment(engine.mountsProgram),
          [`${variables}_${option.toUpperCase()}`]: String(size),
          [`${variables}_SEED`]: String(seed),
          TMPDIR: temporary,
        },
        signal,
        onLine: (line) => process.stdout.write(`${line}\n`),
      }));
    } finally {
      left = await endLeaks(engine.api, temporary);
      if (left.length > 0) process.stdout.write(`Left behind, and removed now:\n${left.join('\n')}\n`);
      rmSync(temporary, { recursive: true, force: true });
    }
    // What is left behind is a failure, as in npm test.
    return code === 0 && left.length === 0 ? 0 : 1;
  });
}

/**
 * @param {string} option
 * @param {string} text
 */
function wholeNumber(option, text) {
  const number = Number(text);
  if (!/^\d{1,9}$/.test(text) || number < 1)
    throw new Failure(`${option} takes a whole number above 0, not ${text}.`);
  return number;
}
