import { aborted } from './aborted.js';

export interface CollectingTime {
  readonly most: number;
  /** From the moment the exec is stopped: someone waits for it to be over. */
  readonly afterStop: number;
}

/**
 * Hashing as much as a policy can allow takes a few seconds; whoever leaves a million files gets no more
 * than this.
 */
const collectingMs: CollectingTime = { most: 30_000, afterStop: 5000 };

/**
 * Aborted when no more time is to be spent on what an exec left behind. Made of plain timers: signals that
 * are only looked at, not listened to, are garbage to AbortSignal.any on Node 20, and never come.
 */
export function collectingDeadline(stop: AbortSignal, ms: CollectingTime = collectingMs): AbortSignal {
  const late = new AbortController();
  const abortAfter = (time: number) => void setTimeout(() => late.abort(), time).unref();
  abortAfter(ms.most);
  void aborted(stop).then(() => abortAfter(ms.afterStop));
  return late.signal;
}
