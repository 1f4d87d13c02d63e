import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { encodeKill, encodeStdin, encodeStdinEnd } from './encode-frame.js';
import { encodeRequest, type InitRequest } from './encode-request.js';
import { InitError } from './init-error.js';
import { limits } from './protocol.js';

const plain: InitRequest = { argv: ['true'], cwd: '/', env: {}, streamsStdin: false };

function refused(change: Partial<InitRequest>): string {
  try {
    encodeRequest({ ...plain, ...change });
  } catch (error) {
    expect(error).toBeInstanceOf(InitError);
    expect((error as InitError).code).toBe('bad_request');
    return (error as InitError).message;
  }
  throw new Error('It was encoded.');
}

describe('encodeRequest', () => {
  test('lays out the bytes as docs/init-protocol.md says', () => {
    const frame = encodeRequest({
      argv: ['sh', '-c'],
      cwd: '/w',
      env: { A: 'ü' },
      streamsStdin: true,
      umask: 0o27,
      rlimits: { fsize: 258 },
    });
    expect(frame.toString('hex').match(/../g)?.join(' ')).toBe(
      [
        '53 62 81 00 00 00 00 27',
        '00 01 00 01 00 17 00 01 00 00 00 02 00 00 00 01',
        '02 00 00 00 00 00 00 01 02',
        '2f 77 00',
        '73 68 00 2d 63 00',
        '41 3d c3 bc 00',
        // Nothing follows the strings.
      ].join(' '),
    );
    expect(frame.readUInt32BE(4)).toBe(frame.length - 8);
  });

  test('holds every string between NULs, in order', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 20 }).map((t) => t.replaceAll('\0', ''));
    fc.assert(
      fc.property(
        fc.array(text, { minLength: 1, maxLength: 20 }),
        fc.dictionary(
          text.filter((t) => t !== '' && !t.includes('=')),
          text,
        ),
        (argv, env) => {
          const tail = encodeRequest({ ...plain, argv, env }).subarray(8 + 16);
          const entries = Object.entries(env).map(([name, value]) => `${name}=${value}`);
          expect(tail.toString('utf8').split('\0')).toEqual(['/', ...argv, ...entries, '']);
        },
      ),
    );
  });

  test.each<[string, Partial<InitRequest>, RegExp]>([
    ['an empty argv', { argv: [] }, /argv is empty/],
    ['too many arguments', { argv: new Array<string>(limits.argv + 1).fill('') }, /more than 4096/],
    ['a NUL in an argument', { argv: ['a', 'b\0c'] }, /argv\[1\] holds a NUL/],
    ['half a surrogate pair', { argv: ['\ud83d'] }, /not valid Unicode/],
    ['a relative cwd', { cwd: 'work' }, /not absolute/],
    ['a NUL in cwd', { cwd: '/\0' }, /cwd holds a NUL/],
    ['an empty name', { env: { '': '1' } }, /name of a variable/],
    ['a name with =', { env: { 'A=B': '1' } }, /name of a variable/],
    ['a NUL in a name', { env: { 'A\0': '1' } }, /name of a variable holds a NUL/],
    [
      'too many variables',
      { env: Object.fromEntries([...Array(4097).keys()].map((n) => [n, ''])) },
      /more than 4096/,
    ],
    ['a umask out of range', { umask: 0o1000 }, /umask/],
    ['a umask that is no whole number', { umask: 1.5 }, /umask/],
    ['a negative rlimit', { rlimits: { nofile: -1 } }, /rlimit nofile/],
    ['an rlimit of unknown name', { rlimits: { toString: 1 } as never }, /unknown name/],
    ['more than one MiB', { argv: ['x'.repeat(limits.requestBytes)] }, /is the limit/],
  ])('refuses %s', (_what, change, message) => {
    expect(refused(change)).toMatch(message);
  });

  test('never tells a value', () => {
    const message = refused({ env: { TOKEN: 'hunter2\0' } });
    expect(message).toContain('TOKEN');
    expect(message).not.toContain('hunter2');
  });

  test('takes exactly one MiB', () => {
    const overhead = 16 + '/\0'.length + '\0'.length;
    expect(encodeRequest({ ...plain, argv: ['x'.repeat(limits.requestBytes - overhead)] })).toHaveLength(
      8 + limits.requestBytes,
    );
  });
});

describe('the other frames to init', () => {
  test('have the bytes that the document says', () => {
    expect(encodeStdin(Buffer.from('ab')).toString('hex')).toBe('53628200000000026162');
    expect(encodeStdinEnd().toString('hex')).toBe('5362830000000000');
    expect(encodeKill(15, 1000).toString('hex')).toBe('53628400000000080f000000000003e8');
  });

  test.each([
    () => encodeStdin(Buffer.alloc(0)),
    () => encodeStdin(Buffer.alloc(limits.stdinWindowBytes + 1)),
    () => encodeKill(0, 0),
    () => encodeKill(65, 0),
    () => encodeKill(Number.NaN, 0),
    () => encodeKill(9, -1),
    () => encodeKill(9, 2 ** 32),
  ])('refuse what init would refuse: %#', (encode) => {
    expect(encode).toThrow(InitError);
  });
});
