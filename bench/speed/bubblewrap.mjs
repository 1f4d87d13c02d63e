import { aptInstall, canUseApt } from '../../docker/setup/apt.mjs';
import { errorMessage, Failure } from '../../docker/setup/failure.mjs';
import { findProgram, systemPath } from '../../docker/setup/run-program.mjs';
import { checkOutput, programs } from './programs.mjs';
import { runQuietly } from './run-quietly.mjs';

/** @typedef {import('./programs.mjs').Program} Program */

/**
 * Bubblewrap over the host's own files: namespaces and no capabilities, but no limits, no seccomp and no image.
 *
 * @param {{ folders: import('./sandbox-flags.mjs').Folders, env: NodeJS.ProcessEnv, install: boolean, signal: AbortSignal, say: (doing: string) => void }} options
 * @returns {Promise<(program: Program) => Promise<void>>}
 */
export async function bubblewrap({ folders, ...options }) {
  const bwrap = await obtain(options);
  const flags = [
    ...['--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--uid', '1000'],
    ...['--gid', '1000', '--clearenv', '--setenv', 'PATH', '/usr/bin:/bin', '--ro-bind', '/usr', '/usr'],
    ...['bin', 'sbin', 'lib', 'lib64'].flatMap((name) => ['--symlink', `usr/${name}`, `/${name}`]),
    ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', '--ro-bind', folders.inputs],
    ...['/workspace/inputs', '--bind', folders.work, '/workspace/work', '--bind', folders.artifacts],
    ...['/workspace/artifacts', '--chdir', '/workspace/work'],
  ];
  /** @type {(program: Program) => Promise<void>} */
  const run = async (program) => {
    const [command = '', ...args] = program.argv;
    const onHost = command === 'python' ? '/usr/bin/python3' : command;
    checkOutput(program, await runQuietly(bwrap, [...flags, onHost, ...args]));
  };
  try {
    await run(programs.python);
  } catch (error) {
    throw new Failure(`it does not run here: ${errorMessage(error).trim().split('\n').at(-1)}`);
  }
  return run;
}

/**
 * @param {import('../../docker/setup/apt.mjs').AptOptions & { install: boolean }} options
 * @returns {Promise<string>}
 */
async function obtain(options) {
  const found = findProgram('bwrap', systemPath(options.env));
  if (found !== undefined) return found;
  if (!options.install || !canUseApt(options.env))
    throw new Failure(
      `it is not installed, and ${options.install ? 'apt-get cannot be used here' : 'is not to be'}.`,
    );
  await aptInstall(['bubblewrap'], options);
  const installed = findProgram('bwrap', systemPath(options.env));
  if (installed === undefined) throw new Failure('apt-get installed it, but bwrap cannot be found.');
  return installed;
}
