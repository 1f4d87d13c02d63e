import { readFileSync } from 'node:fs';
import type { Program } from './program.js';
import { type PythonContainers, replaced, requestOf } from './python-container.js';

/** How a program ended, as bytes can be compared. */
export interface Told {
  readonly end:
    | { readonly kind: 'exited'; readonly code: number }
    | { readonly kind: 'signaled'; readonly signal: number };
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

const driver = readFileSync(new URL('run-plainly.py', import.meta.url), 'utf8');

/** Every program by a python of its own, in one container: what one that is up is compared with. */
export async function runPlainly(
  containers: PythonContainers,
  programs: readonly Program[],
): Promise<readonly Told[]> {
  const requests = programs.map(
    (program) => JSON.stringify(plainRequest(program, containers.environment)) + '\n',
  );
  const container = await containers.start({ pids: 128 });
  try {
    const { outcome, stdout, stderr } = await container.run({
      name: 'every program, one after the other',
      args: ['-c', driver],
      stdin: requests.join(''),
    });
    if (outcome.kind !== 'ended' || stderr.length > 0)
      throw new Error(`The driver failed: ${stderr.toString()}`);
    const answers = stdout.toString().trim().split('\n');
    return answers.map((answer) => told(JSON.parse(answer) as [number, string, string]));
  } finally {
    await container.remove();
  }
}

function plainRequest(program: Program, environment: Readonly<Record<string, string>>) {
  const { argv, env, ...rest } = requestOf(program, environment);
  const encode = (text: string) => replaced(Buffer.from(text), program.raw).toString('base64');
  return {
    ...rest,
    argv: argv.map(encode),
    env: Object.entries(env).map((entry) => entry.map(encode)),
    stdin: program.stdin === undefined ? null : Buffer.from(program.stdin).toString('base64'),
  };
}

function told([code, stdout, stderr]: [number, string, string]): Told {
  return {
    end: code < 0 ? { kind: 'signaled', signal: -code } : { kind: 'exited', code },
    stdout: Buffer.from(stdout, 'base64'),
    stderr: Buffer.from(stderr, 'base64'),
  };
}
