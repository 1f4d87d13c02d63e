import path from 'node:path';
import { readContext } from './build-context.mjs';
import { obtainHostProgram } from './host-program.mjs';
import { repositoryRoot } from './settings.mjs';

/**
 * The program that runs commands as processes of this host, made of its own
 * sources and those of the sandbox's init. Most services never need it.
 *
 * @param {import('./engine.mjs').Engine} engine
 * @param {import('./host-program.mjs').HostProgramOptions} options
 * @returns {Promise<import('./host-program.mjs').HostProgram>}
 */
export async function obtainSubprocessProgram(engine, options) {
  const chosen = options.env['SECBOX_SUBPROCESS_PROGRAM'] ?? '';
  if (chosen !== '') return { program: path.resolve(repositoryRoot, chosen), built: false };
  if (process.platform !== 'linux') return { program: undefined, why: 'processes are started on Linux only' };
  const files = [
    ...readContext(options.folder ?? path.join(repositoryRoot, 'packages/exec-runner/launcher')),
    ...readContext(path.join(repositoryRoot, 'docker/sandbox/init')).map((file) => ({
      ...file,
      name: `init/${file.name}`,
    })),
  ];
  return obtainHostProgram(engine, { name: 'secbox-subprocess', what: 'starts processes', files }, options);
}
