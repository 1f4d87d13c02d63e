import { expect, test } from '@jest/globals';
import { getEventListeners } from 'node:events';
import { aborted } from './aborted.js';

test('however often a signal is waited for, it is listened to once', async () => {
  const stop = new AbortController();
  const waits = Array.from({ length: 20 }, () => aborted(stop.signal));
  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);
  stop.abort();
  await Promise.all(waits);
});

test('one that was aborted before settles at once', async () => {
  await expect(aborted(AbortSignal.abort())).resolves.toBeUndefined();
});
