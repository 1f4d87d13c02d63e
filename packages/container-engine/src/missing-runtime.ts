import { SecboxError } from '@secbox/contracts';

/**
 * What engines say, in their versions, to a runtime that they do not know, and to one whose program is
 * gone. None of them takes another in its place.
 */
const unknown = /unknown (?:or invalid )?runtime/i;
const gone = /looking up the specified runtime path|fork\/exec \S+: no such file/i;

/** A runtime that is not there is told as such, and not as a fault of ours. */
export async function unlessMissingRuntime<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    const { message } = error as Error;
    if (!unknown.test(message) && !gone.test(message)) throw error;
    throw new SecboxError(
      'runtime_missing',
      'The engine does not have the runtime that the container was to run under; nothing ran in its place.',
      { cause: error },
    );
  }
}
