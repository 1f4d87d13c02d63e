import { describe, expect, test } from '@jest/globals';
import { preferredWait } from './prefer.js';

const wait = (prefer?: string, query: Record<string, string> = {}) =>
  preferredWait({ headers: prefer === undefined ? {} : { prefer }, query });

describe('how long an answer waits', () => {
  test.each<[string | undefined, number]>([
    [undefined, Infinity],
    ['', Infinity],
    ['respond-async', 0],
    ['Respond-Async', 0],
    ['wait=3', 3000],
    ['wait="3"', 3000],
    ['respond-async, wait=10', 10_000],
    ['handling=lenient, wait=1', 1000],
    ['wait=-1', Infinity],
    ['wait=soon', Infinity],
    ['wait=999999999', 86_400_000],
  ])('Prefer: %s is %d ms', (prefer, ms) => {
    expect(wait(prefer)).toBe(ms);
  });

  test('?wait=false is respond-async', () => {
    expect(wait(undefined, { wait: 'false' })).toBe(0);
    expect(wait(undefined, { wait: 'true' })).toBe(Infinity);
  });

  test('another ?wait is refused', () => {
    expect(() => wait(undefined, { wait: '5' })).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    );
  });
});
