import { randomUUID } from 'node:crypto';
import type { Call } from './connection.js';

export interface SubmitOptions {
  /** The same key and request is the same exec; one is made where none is given, so that sending again is safe. */
  readonly idempotencyKey?: string | undefined;
  /** How long the answer may wait for the end, in seconds; 0, the default, not at all. */
  readonly waitSeconds?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Once aborted it is not sent again; what is under way is waited for, as only its answer tells the id. */
  readonly giveUp?: AbortSignal | undefined;
}

/** Longer, and something on the way may take the connection for dead. */
export const longestAnswerSeconds = 30;

export function submission(body: unknown, options: SubmitOptions): Call {
  const { idempotencyKey = randomUUID(), waitSeconds = 0, signal, giveUp } = options;
  return {
    method: 'POST',
    body,
    repeatable: true,
    signal,
    giveUp,
    headers: {
      'idempotency-key': idempotencyKey,
      prefer: `respond-async, wait=${Math.min(Math.ceil(waitSeconds), longestAnswerSeconds)}`,
    },
  };
}
