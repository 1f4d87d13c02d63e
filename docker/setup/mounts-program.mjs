import path from 'node:path';
import { readContext } from './build-context.mjs';
import { obtainHostProgram } from './host-program.mjs';
import { repositoryRoot } from './settings.mjs';

/**
 * The program that mounts folders for the service.
 *
 * @param {import('./engine.mjs').Engine} engine
 * @param {import('./host-program.mjs').HostProgramOptions} options
 * @returns {Promise<import('./host-program.mjs').HostProgram>}
 */
export async function obtainMountsProgram(engine, options) {
  const chosen = options.env['SECBOX_MOUNTS_PROGRAM'] ?? '';
  if (chosen !== '') return { program: path.resolve(repositoryRoot, chosen), built: false };
  const why = reasonWithout(engine.endpoint.host);
  if (why !== undefined) return { program: undefined, why };
  const files = readContext(options.folder ?? path.join(repositoryRoot, 'packages/host-mounts/mounter'));
  return obtainHostProgram(engine, { name: 'secbox-mounts', what: 'mounts folders', files }, options);
}

/**
 * @param {string} host
 * @returns {string | undefined} why mounts made here would be of no use
 */
function reasonWithout(host) {
  if (process.platform !== 'linux') return 'folders are mounted on Linux only';
  if (process.getuid?.() !== 0) return 'mounting folders needs root';
  if (!host.startsWith('unix://')) return 'the engine is on another machine';
  return undefined;
}
