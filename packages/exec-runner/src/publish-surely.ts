import type { FinishedExec } from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import { isErrno } from '@secbox/workspace';
import { pause } from './pause.js';
import { Abandoned } from './run-container.js';

/** The exec ran and ended, and what it left could not be published: its end is known all the same. */
export class Unpublished extends Error {
  constructor(
    readonly finished: FinishedExec,
    cause: unknown,
  ) {
    super(
      'the exec ended, but its output and artifacts could not be published: the log of the server says why',
      { cause },
    );
  }
}

export interface WaitingForRoom {
  readonly log: Logger;
  /** Aborted when the server has to end and nobody can wait any longer. */
  readonly abandon: AbortSignal;
}

export interface Publishing extends WaitingForRoom {
  /** May be called again after it failed. */
  readonly publish: () => Promise<void>;
  readonly finished: FinishedExec;
}

const retryMs = 500;

/** Publishes what an exec left as soon as there is room for it. */
export async function publishSurely({ publish, finished, ...waiting }: Publishing): Promise<void> {
  try {
    await onceThereIsRoom(publish, waiting);
  } catch (error) {
    throw error instanceof Abandoned ? error : new Unpublished(finished, error);
  }
}

/**
 * Tries again however long a full disk has no room for it or no file can be opened. When nobody can wait any longer the
 * row of the exec stays as it is and its output in the spool: the next server goes on with it.
 */
export async function onceThereIsRoom<T>(
  work: () => Promise<T>,
  { log, abandon }: WaitingForRoom,
): Promise<T> {
  for (let told = false; ; told = true) {
    try {
      return await work();
    } catch (error) {
      if (!abandon.aborted && !passes(error)) throw error;
      if (!told) log.error('exec.results_wait', { error });
      if (abandon.aborted) throw new Abandoned('its results could not be kept', { cause: error });
    }
    await pause(retryMs, abandon);
  }
}

function passes(error: unknown): boolean {
  return isFull(error) || isErrno(error, 'EMFILE', 'ENFILE');
}

export function isFull(error: unknown): boolean {
  return isErrno(error, 'ENOSPC', 'EDQUOT');
}
