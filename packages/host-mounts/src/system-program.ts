import { spawn } from 'node:child_process';

/** Where the system's own programs lie; what we run as root is looked for nowhere else. */
const environment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };
const largestOutput = 1024 ** 2;
const longestReason = 500;

/** A program of the system that failed, is missing, or took too long; the message says which. */
export class ProgramError extends Error {
  override readonly name = 'ProgramError';

  constructor(
    message: string,
    /** Null when it did not come to its own end. */
    readonly exitCode: number | null,
    /** What it had printed until then. */
    readonly output: string,
  ) {
    super(message);
  }
}

/**
 * Runs a program and gives what it printed. Complaints that are dropped cost nothing, however many somebody else can make
 * it print.
 */
export function runSystemProgram(
  program: string,
  args: readonly string[],
  timeoutMs = 120_000,
  complaints: 'told' | 'dropped' = 'told',
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: environment,
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      stdio: ['ignore', 'pipe', complaints === 'told' ? 'pipe' : 'ignore'],
    });
    let output = '';
    let told = '';
    let tooMuch = false;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.length <= largestOutput) return;
      tooMuch = true;
      child.kill('SIGKILL');
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      // The beginning says why; the rest is read so that it does not wait for us.
      if (told.length < longestReason) told = (told + text).trimStart().slice(0, longestReason);
    });
    child.on('error', (error: NodeJS.ErrnoException) => {
      const missing = error.code === 'ENOENT';
      const message = missing ? `${program} is not installed` : `${program} failed: ${error.message}`;
      reject(new ProgramError(message, null, output));
    });
    child.on('close', (exitCode, signal) => {
      if (exitCode === 0 && !tooMuch) {
        resolve(output);
        return;
      }
      const message = tooMuch
        ? `${program} printed too much`
        : child.killed
          ? `${program} took too long`
          : `${program} failed: ${told.trimEnd() || (signal ?? `exit code ${exitCode}`)}`;
      reject(new ProgramError(message, tooMuch ? null : exitCode, output));
    });
  });
}
