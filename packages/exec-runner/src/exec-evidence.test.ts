import { expect, test } from '@jest/globals';
import type { VisibleInput } from '@secbox/workspace';
import { withGone } from './exec-evidence.js';

const input = (path: string): VisibleInput => ({ path, size: 1, sha256: 'x' });
const raw = (bytes: readonly number[]): VisibleInput => ({
  ...input('\ufffd'),
  path_base64: Buffer.from(bytes).toString('base64'),
});

test('what went meanwhile is told in its place, and nothing twice', () => {
  const now = [input('a'), input('c'), raw([0xfe])];
  expect(withGone(now, [input('a'), raw([0xfe])])).toEqual(now);
  expect(withGone(now, [input('b'), input('c'), raw([0xfd])])).toEqual([
    input('a'),
    input('b'),
    input('c'),
    raw([0xfd]),
    raw([0xfe]),
  ]);
});
