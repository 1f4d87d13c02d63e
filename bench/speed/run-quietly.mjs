import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/**
 * Runs a program as a caller of it would.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, signal?: AbortSignal }} [options]
 * @returns {Promise<string>} what it printed
 */
export async function runQuietly(command, args, options = {}) {
  const running = promisify(execFile)(command, [...args], { ...options, encoding: 'utf8' });
  running.child.stdin?.end();
  return (await running).stdout;
}
