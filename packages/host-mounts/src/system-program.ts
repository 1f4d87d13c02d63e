import { execFile } from 'node:child_process';

/** Where the system's own programs lie; what we run as root is looked for nowhere else. */
const environment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };
const largestOutput = 1024 ** 2;
const longestReason = 500;

/** A program of the system that failed, is missing, or took too long; the message says which. */
export class ProgramError extends Error {
  override readonly name = 'ProgramError';

  constructor(
    message: string,
    readonly exitCode: number | null,
    /** What it had printed until then. */
    readonly output: string,
  ) {
    super(message);
  }
}

/** Runs a program and gives what it printed. */
export function runSystemProgram(
  program: string,
  args: readonly string[],
  timeoutMs = 120_000,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = {
      env: environment,
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: largestOutput,
    } as const;
    execFile(program, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new ProgramError(messageOf(program, error, stderr), exitCodeOf(error), stdout));
    });
  });
}

function messageOf(
  program: string,
  error: Error & { code?: unknown; killed?: boolean },
  stderr: string,
): string {
  if (error.code === 'ENOENT') return `${program} is not installed`;
  if (error.killed === true) return `${program} took too long`;
  return `${program} failed: ${(stderr.trim() || error.message).slice(0, longestReason)}`;
}

function exitCodeOf({ code }: { readonly code?: unknown }): number | null {
  return typeof code === 'number' ? code : null;
}
