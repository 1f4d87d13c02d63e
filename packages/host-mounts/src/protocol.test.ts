import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  AnswerReader,
  answers,
  flags,
  lengthBytes,
  limits,
  requestFixedBytes,
  requestFrame,
  verbs,
  type MountAnswer,
} from './protocol.js';

const header = readFileSync(new URL('../mounter/protocol.h', import.meta.url), 'utf8');
const defined = Object.fromEntries(
  [...header.matchAll(/^#define ([A-Z_]+) (\w+)$/gm)].map(([, name = '', value]) => [name, Number(value)]),
);

test('the program and we speak of the same numbers', () => {
  expect(defined).toEqual({
    LENGTH_BYTES: lengthBytes,
    REQUEST_FIXED_BYTES: requestFixedBytes,
    MAX_REQUEST_BYTES: limits.requestBytes,
    MAX_LOWER: limits.lower,
    VERB_BIND: verbs.bind,
    VERB_OVERLAY: verbs.overlay,
    VERB_UNMOUNT: verbs.unmount,
    VERB_SHARE: verbs.share,
    VERB_DISK: verbs.disk,
    FLAG_READ_ONLY: flags.readOnly,
    ANSWER_DONE: answers.done,
    ANSWER_FAILED: answers.failed,
  });
});

describe('a request', () => {
  test('is its length, id, verb, flags and strings', () => {
    const frame = requestFrame(0x01020304, { verb: 'bind', readOnly: true, paths: ['/a', '/ü'] });
    expect(frame.toString('hex')).toBe(`0000000f0102030401010002${Buffer.from('/a\0/ü\0').toString('hex')}`);
  });

  test('with a NUL in a path, or longer than any may be, is none', () => {
    expect(() => requestFrame(1, { verb: 'unmount', paths: ['/a\0/b'] })).toThrow(RangeError);
    const path = (length: number) => ['/'.padEnd(length, 'a')];
    const longest = limits.requestBytes - requestFixedBytes - 1;
    expect(requestFrame(1, { verb: 'unmount', paths: path(longest) })).toHaveLength(
      lengthBytes + limits.requestBytes,
    );
    expect(() => requestFrame(1, { verb: 'unmount', paths: path(longest + 1) })).toThrow(RangeError);
  });
});

describe('answers', () => {
  const frameOf = ({ id, failure }: MountAnswer) => {
    const reason = failure ? `${failure.step} ${failure.errno}` : '';
    const frame = Buffer.alloc(9 + reason.length);
    frame.writeUInt32BE(5 + reason.length, 0);
    frame.writeUInt32BE(id, 4);
    frame.writeUInt8(failure ? 1 : 0, 8);
    frame.write(reason, 9);
    return frame;
  };

  test('are read in pieces of any size', () => {
    const answer = fc.record({
      id: fc.nat(),
      failure: fc.option(
        fc.record({
          step: fc.constantFrom('source', 'target'),
          errno: fc.constantFrom('EBUSY', 'ELOOP', 'errno 999'),
        }),
        { nil: undefined },
      ),
    });
    fc.assert(
      fc.property(fc.array(answer), fc.array(fc.integer({ min: 1, max: 20 })), (sent, sizes) => {
        const bytes = Buffer.concat(sent.map(frameOf));
        const reader = new AnswerReader();
        const read: MountAnswer[] = [];
        let at = 0;
        for (const size of [...sizes, bytes.length]) {
          read.push(...reader.read(bytes.subarray(at, at + size)));
          at += size;
        }
        expect(read).toEqual(sent);
      }),
    );
  });

  test.each(['00000004', 'ffffffff', '00000401'])('of no possible length are none: %s', (hex) => {
    expect(() => new AnswerReader().read(Buffer.from(hex, 'hex'))).toThrow(RangeError);
  });
});
