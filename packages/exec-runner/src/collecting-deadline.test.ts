import { describe, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { aborted } from './aborted.js';
import { collectingDeadline } from './collecting-deadline.js';

const never = 600_000;

describe('the time for collecting (case 24)', () => {
  test('ends by itself', async () => {
    const deadline = collectingDeadline(new AbortController().signal, { most: 20, afterStop: 0 });
    expect(deadline.aborted).toBe(false);
    // Its timer does not keep a process alive: here something else has to.
    await Promise.all([aborted(deadline), sleep(100)]);
    expect(deadline.aborted).toBe(true);
  });

  test('is cut short by a stop, before or while it runs', async () => {
    const stopped = collectingDeadline(AbortSignal.abort(), { most: never, afterStop: 20 });
    const stop = new AbortController();
    const later = collectingDeadline(stop.signal, { most: never, afterStop: 20 });
    expect([stopped.aborted, later.aborted]).toEqual([false, false]);
    stop.abort();
    await Promise.all([aborted(stopped), aborted(later), sleep(100)]);
    expect([stopped.aborted, later.aborted]).toEqual([true, true]);
  });

  test('a stop leaves some of it: what a cancelled exec left is listed too', async () => {
    const stopped = collectingDeadline(AbortSignal.abort(), { most: never, afterStop: never });
    await sleep(20);
    expect(stopped.aborted).toBe(false);
  });
});
