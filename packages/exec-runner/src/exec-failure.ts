import { SecboxError, type EndedExec, type ExecId } from '@secbox/contracts';
import { HandedOver, StopReason, withoutResult } from './exec-outcome.js';
import { Abandoned } from './run-container.js';

/** A database that does not answer is told as such, not as a fault of the request. */
export async function recorded<T>(write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (error instanceof SecboxError) throw error;
    throw new SecboxError('database_unavailable', 'The audit database does not answer.', { cause: error });
  }
}

/** What the next server goes on with: an exec that never started, or one that may not be over. */
export function isLeft(error: unknown): boolean {
  return error instanceof HandedOver || error instanceof Abandoned;
}

export function endWithoutResult(
  error: unknown,
  execId: ExecId,
): readonly [EndedExec, SecboxError | undefined] {
  const now = new Date();
  if (error instanceof StopReason) return [withoutResult(error.status, error.message, now), undefined];
  const failure = failureOf(error, execId);
  const status = failure.kind === 'invalid' || failure.kind === 'conflict' ? 'rejected' : 'error';
  return [withoutResult(status, failure.message, now), failure];
}

export function failureOf(error: unknown, execId: ExecId): SecboxError {
  const details = { exec_id: execId };
  if (error instanceof SecboxError) {
    return new SecboxError(error.code, error.message, {
      details: { ...error.details, ...details },
      cause: error,
    });
  }
  return new SecboxError('internal_error', 'The exec could not be run; the log of the server says why.', {
    details,
    cause: error,
  });
}
