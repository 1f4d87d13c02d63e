import { describe, expect, test } from '@jest/globals';
import { newExecId } from '@secbox/contracts';
import fc from 'fast-check';
import { artifactUrl, nameOf, parseArtifactPath, pathOf } from './artifact-path.js';
import { zipNameOf } from './zip-name.js';

/** Any name a file can have: bytes but NUL and slash. */
const byte = fc.integer({ min: 1, max: 255 }).filter((value) => value !== 0x2f);
const anyBytes = fc.array(byte, { minLength: 1, maxLength: 12 }).map((bytes) => Buffer.from(bytes));
const tricky = fc
  .constantFrom(
    'a',
    '%',
    '%41',
    '%0A',
    'é',
    '\n',
    '\\',
    '...',
    ' ',
    '-x',
    ':',
    '雪',
    '\u202e',
    '\ufeff',
    'a.',
  )
  .map((text) => Buffer.from(text));
const name = fc.oneof(anyBytes, tricky).filter((bytes) => !['.', '..'].includes(bytes.toString('latin1')));
const path = fc.array(name, { minLength: 1, maxLength: 4 });

/** As the list of artifacts has it. */
function listed(names: readonly Buffer[]) {
  const known = nameOf(names);
  return 'path' in known ? known : { path: '\ufffd', path_base64: known.base64 };
}

describe('the path of an artifact', () => {
  test('comes back from its URL and from its list, whatever its bytes are', () => {
    const execId = newExecId();
    fc.assert(
      fc.property(path, (names) => {
        const entry = listed(names);
        const url = artifactUrl(execId, entry);
        expect(url).toMatch(/^[A-Za-z0-9._~%/-]+$/);
        expect(parseArtifactPath(url.slice(`/sandbox/execs/${execId}/artifacts/`.length))).toEqual(names);
        expect(pathOf(entry)).toEqual(names);
      }),
    );
  });

  test.each(['', '..', 'a/../b', '.', 'a//b', '/a', 'a/', '%2e%2e', 'a%2Fb', '%00', 'x'.repeat(256)])(
    'is not %j (cases 1, 2)',
    (text) => {
      expect(() => parseArtifactPath(text)).toThrow(expect.objectContaining({ code: 'invalid_path' }));
    },
  );
});

describe('the name of a ZIP entry', () => {
  test('is safe on every system, and no two paths have one', () => {
    fc.assert(
      fc.property(path, path, (one, other) => {
        const entry = zipNameOf(one);
        expect(entry).not.toMatch(/[\p{Cc}\p{Cf}\\:*?"<>|]/u);
        for (const part of entry.split('/')) expect(part).not.toMatch(/^\.{0,2}$|[. ]$/);
        const same = Buffer.concat(one.flatMap((each) => [each, Buffer.from('/')])).equals(
          Buffer.concat(other.flatMap((each) => [each, Buffer.from('/')])),
        );
        expect(zipNameOf(other) === entry).toBe(same);
      }),
      { numRuns: 2000 },
    );
  });
});
