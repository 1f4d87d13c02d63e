import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the repository. */
export const repositoryRoot = path.resolve(fileURLToPath(new URL('../..', import.meta.url)));

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {string} where everything is kept that Secbox writes
 */
export function dataFolder(env) {
  const chosen = env['SECBOX_DATA_DIR'] ?? '';
  if (chosen === '') return path.join(repositoryRoot, 'data');
  return path.resolve(repositoryRoot, chosen.replace(/^~(?=\/|$)/, os.homedir()));
}
