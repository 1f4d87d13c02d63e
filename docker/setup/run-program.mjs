import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';

const KEPT_LINES = 200;
const GRACE_MS = 15_000;

/** @typedef {import('node:stream').Readable} Readable */

/**
 * @typedef {object} ProgramOptions
 * @property {AbortSignal} signal stops the program when aborted
 * @property {NodeJS.ProcessEnv} [env]
 * @property {string} [cwd]
 * @property {(line: string) => void} [onLine] each line of stdout and stderr
 * @property {(line: string) => void} [onStatusLine] each line of file descriptor 3
 * @property {(stdout: Readable) => void} [onStdout] takes stdout as bytes instead of lines
 * @property {number} [keptLines] how many of them the result holds
 */

/**
 * @typedef {object} ProgramResult
 * @property {number} code exit code; 128 + n when ended by signal n
 * @property {string[]} lines the last lines it printed
 */

/**
 * Runs a program to its end in a process group of its own, so that Ctrl-C
 * reaches it once, through us, and its children end with it.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {ProgramOptions} options
 * @returns {Promise<ProgramResult>}
 */
export async function runProgram(command, args, options) {
  options.signal.throwIfAborted();
  const windows = process.platform === 'win32';
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: options.env ?? process.env,
    detached: !windows,
    shell: windows,
    stdio: ['ignore', 'pipe', 'pipe', options.onStatusLine === undefined ? 'ignore' : 'pipe'],
  });

  /** @type {string[]} */
  const lines = [];
  /** @param {string} line */
  const keep = (line) => {
    lines.push(line);
    if (lines.length > (options.keptLines ?? KEPT_LINES)) lines.shift();
    options.onLine?.(line);
  };
  // Always there: stdio says so, which the types cannot know as the fourth entry varies.
  const [, stdout, stderr, status] = /** @type {[null, Readable, Readable, Readable | null]} */ (
    /** @type {unknown} */ (child.stdio)
  );
  if (options.onStdout === undefined) createInterface({ input: stdout }).on('line', keep);
  else options.onStdout(stdout);
  createInterface({ input: stderr }).on('line', keep);
  if (status !== null && options.onStatusLine !== undefined) {
    createInterface({ input: status }).on('line', options.onStatusLine);
  }

  const stop = () => {
    const { pid } = child;
    if (pid === undefined) return;
    const whole = windows ? pid : -pid;
    sendSignal(whole, 'SIGTERM');
    setTimeout(() => sendSignal(whole, 'SIGKILL'), GRACE_MS).unref();
  };
  options.signal.addEventListener('abort', stop, { once: true });
  try {
    /** @type {number} */
    const code = await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', () => {
        // Nobody reads on when we are stopping, and what is not read would never close.
        if (options.signal.aborted) for (const stream of [stdout, stderr]) stream.destroy();
      });
      child.once('close', (exit, signal) => resolve(exit ?? 128 + signalNumber(signal)));
    });
    options.signal.throwIfAborted();
    return { code, lines };
  } finally {
    options.signal.removeEventListener('abort', stop);
  }
}

/** @param {NodeJS.Signals | null} signal */
function signalNumber(signal) {
  return signal === 'SIGKILL' ? 9 : signal === 'SIGINT' ? 2 : 15;
}

/**
 * @param {number} pid a process, or minus a process group
 * @param {NodeJS.Signals} signal
 */
function sendSignal(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone already, which is what we want.
  }
}

/**
 * PATH with the folders of system programs, which a plain user's PATH lacks.
 *
 * @param {NodeJS.ProcessEnv} env
 */
export function systemPath(env) {
  const system = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
  const own = (env['PATH'] ?? '').split(path.delimiter).filter((folder) => folder !== '');
  return [...new Set([...own, ...system])].join(path.delimiter);
}

/**
 * @param {string} name
 * @param {string} searchPath in the form of PATH
 * @returns {string | undefined} the program's full path
 */
export function findProgram(name, searchPath) {
  for (const folder of searchPath.split(path.delimiter)) {
    const candidate = path.join(folder, name);
    try {
      accessSync(candidate, constants.X_OK);
      return candidate;
    } catch {
      // Not in this folder.
    }
  }
  return undefined;
}
