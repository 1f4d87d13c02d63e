import { SecboxError } from '@secbox/contracts';

/** A command of the docker program that failed although the engine was there; the message is the program's own. */
export class DockerCliError extends Error {
  override readonly name = 'DockerCliError';
}

/** What the program says when it is the engine that refuses. */
const refusal = /^Error response from daemon:/m;

/** What the program says, in all its versions, when the engine cannot be reached or leaves in mid-answer. */
const unreachable = new RegExp(
  [
    'cannot connect to the docker daemon',
    'failed to connect to the docker api',
    'error during connect',
    'permission denied while trying to connect',
    'unable to resolve docker endpoint',
    'connection (?:reset|refused)',
    'broken pipe',
    '^(?:unexpected )?EOF$',
  ].join('|'),
  'im',
);

/** An engine that cannot be reached is told apart from one that refuses. */
export function cliFailure(
  call: string,
  { code, signal }: { readonly code: number | null; readonly signal: NodeJS.Signals | null },
  stderr: string,
): Error {
  const message =
    stderr.trim() || (signal === null ? `exit code ${code ?? 'unknown'}` : `ended by ${signal}`);
  const error = new DockerCliError(`docker ${call}: ${message}`);
  if (refusal.test(stderr) || !unreachable.test(stderr)) return error;
  return new SecboxError('engine_unavailable', `The container engine does not answer (${call}).`, {
    cause: error,
  });
}

/** The engine took longer than it may. */
export function lateAnswer(call: string, ms: number): Error {
  return new SecboxError(
    'engine_unavailable',
    `The container engine does not answer (${call}: not in ${ms} ms).`,
  );
}

/** The program could not be started at all: without it there is no engine for us. */
export function programFailure(call: string, cause: unknown): Error {
  const { code = 'unknown' } = cause as { code?: string };
  if (code === 'E2BIG' || code === 'ENAMETOOLONG' || code === 'ERR_INVALID_ARG_VALUE') {
    return new DockerCliError(`docker ${call}: its arguments are too long or hold a null byte (${code}).`, {
      cause,
    });
  }
  const why = code === 'ENOENT' ? 'it was not found; is the Docker CLI installed?' : code;
  return new SecboxError('engine_unavailable', `The docker program cannot be started (${call}): ${why}`, {
    cause,
  });
}

/** A name that is none at all is not missing, although older engines word it so. */
export function isMissing(error: unknown): boolean {
  return (
    error instanceof DockerCliError &&
    /\bno such (?:container|image|object)\b/i.test(error.message) &&
    !/invalid reference format/i.test(error.message)
  );
}
