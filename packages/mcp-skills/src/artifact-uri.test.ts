import { describe, expect, test } from '@jest/globals';
import { artifactAt, artifactUri } from './artifact-uri.js';

const execId = '2c1e9a40-0a53-4d0e-9a44-1f0d5c1f6f11';
const at = (path: string) => artifactAt(`secbox://execs/${execId}/artifacts/${path}`);

describe('the URI of an artifact', () => {
  test.each(['a.txt', 'out/a.csv', '...', '.hidden', 'a..b', 'b%20%C3%BC.bin', '%3F%23', '%FF', '%2e%2e%2e'])(
    'names %s',
    (path) => {
      expect(at(path)).toEqual({ execId, path });
      expect(artifactUri(`/sandbox/execs/${execId}/artifacts/${path}`)).toBe(
        `secbox://execs/${execId}/artifacts/${path}`,
      );
    },
  );

  test.each([
    '',
    '.',
    '..',
    '../../../../keys',
    'a/../b',
    'a//b',
    '/a',
    'a/',
    'a/.',
    '%2e%2E/%2e./keys',
    '.%2e',
    '..\\keys',
    'a?x=1',
    'a#b',
    '.\t./keys',
    '..\n',
    '.\r.',
    '.. ',
    'ü',
  ])('leads nowhere else: %j (cases 1, 2)', (path) => {
    expect(at(path)).toBeUndefined();
  });
});
