import { expect, test } from '@jest/globals';
import { byAge } from './store/baseline-store.js';
import { pageOfVersions } from './version-page.js';

/** Newest first; two of each moment. */
const versions = Array.from({ length: 7 }, (_, n) => ({
  version: String(n).repeat(64),
  created_at: new Date(Date.UTC(2026, 0, 1 + Math.floor(n / 2))).toISOString(),
})).sort(byAge);

function paged(all: typeof versions, limit: number): string[] {
  const seen: string[] = [];
  for (let cursor: string | undefined; ;) {
    const page = pageOfVersions(all, cursor === undefined ? { limit } : { limit, cursor });
    expect(page.versions.length).toBeLessThanOrEqual(limit);
    seen.push(...page.versions.map(({ version }) => version));
    if (page.next_cursor === null) return seen;
    cursor = page.next_cursor;
  }
}

test('the pages together are all of them, in their order', () => {
  const all = versions.map(({ version }) => version);
  for (const limit of [1, 2, 3, 7, 8]) expect(paged(versions, limit)).toEqual(all);
  expect(paged([], 1)).toEqual([]);
});

test('a page goes on where the last one ended, though that one is gone and a newer one has come', () => {
  const { next_cursor: cursor } = pageOfVersions(versions, { limit: 3 });
  const newer = { version: 'f'.repeat(64), created_at: '2027-01-01T00:00:00.000Z' };
  const later = [newer, ...versions.filter((_, n) => n !== 2)];
  expect(pageOfVersions(later, { limit: 2, cursor: cursor ?? '' }).versions).toEqual(versions.slice(3, 5));
});

test.each(['', 'x', '1', `2026-01-01T00:00:00.000Z_${'g'.repeat(64)}`, "' or 1=1"])(
  'no cursor: %p',
  (cursor) => {
    expect(() => pageOfVersions(versions, { cursor })).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    );
  },
);
