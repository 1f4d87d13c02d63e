import type { FinishedExec } from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import { isErrno } from '@secbox/workspace';
import { pause } from './pause.js';

/** The exec ran and ended, and what it left could not be published: its end is known all the same. */
export class Unpublished extends Error {
  constructor(
    readonly finished: FinishedExec,
    cause: unknown,
  ) {
    const why = isFull(cause) ? "the server's disk was full" : 'the log of the server says why';
    super(`the exec ended, but its output and artifacts could not be published: ${why}`, { cause });
  }
}

export interface Publishing {
  readonly publish: () => Promise<void>;
  readonly finished: FinishedExec;
  readonly log: Logger;
  /** Aborted when nobody can wait any longer. */
  readonly abandon: AbortSignal;
}

const retryMs = 500;

/** Publishes what an exec left, however long a full disk has no room for it. */
export async function publishSurely({ publish, finished, log, abandon }: Publishing): Promise<void> {
  for (let told = false; ; told = true) {
    try {
      await publish();
      return;
    } catch (error) {
      if (!isFull(error) || abandon.aborted) throw new Unpublished(finished, error);
      if (!told) log.error('exec.results_wait', { error });
    }
    await pause(retryMs, abandon);
  }
}

export function isFull(error: unknown): boolean {
  return isErrno(error, 'ENOSPC', 'EDQUOT');
}
