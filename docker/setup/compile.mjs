import path from 'node:path';
import { Failure } from './failure.mjs';
import { withRepositoryLock } from './packages.mjs';
import { runProgram } from './run-program.mjs';

/**
 * Compiles the service and what it is made of; files that have not changed
 * are not compiled again.
 *
 * @param {import('./packages.mjs').PackagesOptions & { projects?: readonly string[] }} options projects: something else than
 *   the service
 */
export async function compileService(options) {
  const { root, env, signal, say, projects = ['apps/core-api'] } = options;
  await withRepositoryLock(options, async () => {
    say('compiling');
    const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const args = [tsc, '-b', ...projects, '--pretty', 'false'];
    const { code, lines } = await runProgram(process.execPath, args, { cwd: root, env, signal });
    if (code !== 0) throw new Failure('The sources do not compile.', { details: lines.join('\n') });
  });
}
