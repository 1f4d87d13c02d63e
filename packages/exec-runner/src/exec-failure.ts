import { noEvidence, SecboxError, type EndedExec, type ExecId } from '@secbox/contracts';
import { HandedOver, StopReason, Unrecorded, withoutResult } from './exec-outcome.js';
import { isFull, Unpublished } from './publish-surely.js';
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

/**
 * What gets no end now: an exec that never started, or may not be over, which the next server goes on with; and one that
 * has no row to give it to.
 */
export function isLeft(error: unknown): boolean {
  return error instanceof HandedOver || error instanceof Abandoned || error instanceof Unrecorded;
}

export function endWithoutResult(
  error: unknown,
  execId: ExecId,
): readonly [EndedExec, SecboxError | undefined, undefined] {
  const now = new Date();
  if (error instanceof StopReason)
    return [withoutResult(error.status, error.message, now), undefined, undefined];
  const failure = failureOf(error, execId);
  if (error instanceof Unpublished) {
    const { finished, message } = error;
    const ended = { ...finished, status: 'error', error_reason: message, evidence: noEvidence } as const;
    return [ended, failure, undefined];
  }
  const status = failure.kind === 'invalid' || failure.kind === 'conflict' ? 'rejected' : 'error';
  return [withoutResult(status, failure.message, now), failure, undefined];
}

export function failureOf(error: unknown, execId: ExecId): SecboxError {
  const details = { exec_id: execId };
  if (error instanceof SecboxError) {
    return new SecboxError(error.code, error.message, {
      details: { ...error.details, ...details },
      cause: error,
    });
  }
  const why = isFull(error) ? "the server's disk was full" : 'the log of the server says why';
  return new SecboxError('internal_error', `The exec could not be brought to its end: ${why}.`, {
    details,
    cause: error,
  });
}

export function stopping(): SecboxError {
  return new SecboxError('shutting_down', 'The server is stopping and takes no new execs.');
}
