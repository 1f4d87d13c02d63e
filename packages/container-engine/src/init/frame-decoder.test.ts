import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { encodeFrame } from './encode-frame.js';
import { FrameDecoder } from './frame-decoder.js';
import { InitError } from './init-error.js';
import type { InitFrame } from './init-frame.js';
import { limits, toHost } from './protocol.js';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const ready = encodeFrame(toHost.ready, hex('0001 0000 00100000 00010000'));
const started = encodeFrame(toHost.started, hex('00000007 00000000'));
const exit = encodeFrame(
  toHost.exit,
  hex('00 03 01 07 00000002 00000000000f4240 0000000000001388 0000000000400000 0000000000100000'),
);

function decode(...chunks: Uint8Array[]): InitFrame[] {
  const decoder = new FrameDecoder();
  return chunks.flatMap((chunk) => [...decoder.push(chunk)]);
}

/** Data frames joined, so that only what is told counts, not how it was cut. */
function joined(frames: readonly InitFrame[]): unknown[] {
  const told: unknown[] = [];
  for (const frame of frames) {
    const last = told.at(-1) as { type?: string; text?: string } | undefined;
    if (frame.type !== 'stdout' && frame.type !== 'stderr') told.push(frame);
    else if (last?.type === frame.type) last.text = (last.text ?? '') + frame.data.toString('latin1');
    else told.push({ type: frame.type, text: frame.data.toString('latin1') });
  }
  return told;
}

describe('FrameDecoder', () => {
  test('reads every kind of frame', () => {
    const frames = decode(
      ready,
      started,
      encodeFrame(toHost.failed, hex('05 00 0000 00000002')),
      encodeFrame(toHost.stdout, Buffer.from('out')),
      encodeFrame(toHost.stderr, Buffer.from('err')),
      encodeFrame(toHost.stdinCredit, hex('00004000')),
      encodeFrame(toHost.stdinClosed, Buffer.alloc(0)),
      exit,
      encodeFrame(toHost.fault, hex('06 82 0000 00010000')),
      encodeFrame(toHost.ready, hex('0001 0001 00100000 00010000')),
      encodeFrame(toHost.ahead, hex('01 00 0000')),
      encodeFrame(toHost.ahead, hex('02 00 0000')),
      encodeFrame(toHost.started, hex('00000007 00000001')),
    );
    expect(frames).toEqual([
      { type: 'ready', version: 1, startsAhead: false },
      { type: 'started', pid: 7, start: 'plain' },
      { type: 'failed', step: 'exec', errno: 2 },
      { type: 'stdout', data: Buffer.from('out') },
      { type: 'stderr', data: Buffer.from('err') },
      { type: 'stdin_credit', bytes: 0x4000 },
      { type: 'stdin_closed' },
      {
        type: 'exit',
        exit: {
          end: { kind: 'exited', code: 3 },
          alone: true,
          oomKills: 2,
          wallMicros: 1_000_000,
          cpuMicros: 5000,
          peakBytes: 0x400000,
          maxRssBytes: 0x100000,
        },
      },
      { type: 'fault', fault: 'window' },
      { type: 'ready', version: 1, startsAhead: true },
      { type: 'ahead', state: 'up' },
      { type: 'ahead', state: 'lost' },
      { type: 'started', pid: 7, start: 'ahead' },
    ]);
  });

  test('does not tell what was not measured', () => {
    const frames = decode(encodeFrame(toHost.exit, hex(`01 09 00 00${'00'.repeat(36)}`)));
    expect(frames[0]).toMatchObject({
      exit: {
        end: { kind: 'signaled', signal: 9 },
        alone: false,
        oomKills: undefined,
        cpuMicros: undefined,
        peakBytes: undefined,
      },
    });
  });

  test('gives the same whatever the cuts', () => {
    const ahead = encodeFrame(toHost.ahead, hex('01 00 0000'));
    const closed = encodeFrame(toHost.stdinClosed, Buffer.alloc(0));
    const control = fc.constantFrom(ready, ahead, started, exit, closed);
    const data = fc
      .tuple(fc.constantFrom(toHost.stdout, toHost.stderr), fc.uint8Array({ minLength: 1, maxLength: 60 }))
      .map(([type, bytes]) => encodeFrame(type, bytes));
    fc.assert(
      fc.property(
        fc.array(fc.oneof(control, data), { maxLength: 20 }),
        fc.array(fc.integer({ min: 1, max: 19 }), { minLength: 1, maxLength: 8 }),
        (frames, cuts) => {
          const whole = Buffer.concat(frames);
          const torn: Buffer[] = [];
          for (let at = 0, n = 0; at < whole.length; n += 1) {
            const length = cuts[n % cuts.length] ?? 1;
            torn.push(whole.subarray(at, at + length));
            at += length;
          }
          expect(joined(decode(...torn))).toEqual(joined(decode(whole)));
        },
      ),
    );
  });

  test('hands data on as a view of the chunk, without gathering it', () => {
    const chunk = encodeFrame(toHost.stdout, Buffer.alloc(limits.dataBytes, 7));
    const [frame] = decode(chunk.subarray(0, 1000));
    if (frame?.type !== 'stdout') throw new Error('No data was handed on.');
    expect(frame.data).toHaveLength(992);
    expect(frame.data.buffer).toBe(chunk.buffer);
  });

  test('a flood of the smallest frames does not deepen the stack', () => {
    const tiny = encodeFrame(toHost.stdout, Buffer.from('x'));
    expect(decode(Buffer.concat(new Array<Buffer>(200_000).fill(tiny)))).toHaveLength(200_000);
  });

  test.each<[string, Uint8Array]>([
    ['text of another program', Buffer.from('bash: no such file\n')],
    ['another magic', hex('53 63 04 00 00000001 61')],
    ['a byte that must be 0', hex('53 62 04 01 00000001 61')],
    ['an unknown type', hex('53 62 0b 00 00000000')],
    ['a report of what is ahead that is too short', hex('53 62 0a 00 00000003')],
    ['an unknown state of what is ahead', encodeFrame(toHost.ahead, hex('03 00 0000'))],
    ['something unknown ahead', encodeFrame(toHost.ready, hex('0001 0002 00100000 00010000'))],
    ['an unknown way to start', encodeFrame(toHost.started, hex('00000007 00000002'))],
    ['a frame that only the host sends', hex('53 62 81 00 00000000')],
    ['data without bytes', hex('53 62 04 00 00000000')],
    ['data over the limit', hex('53 62 04 00 00010001')],
    ['a length of 4 GiB', hex('53 62 05 00 ffffffff')],
    ['a report that is too short', hex('53 62 08 00 00000027')],
    ['a report that is too long', hex('53 62 08 00 00000029')],
    ['a ready of another version', encodeFrame(toHost.ready, hex('0002 0000 00100000 00010000'))],
    ['a ready with other limits', encodeFrame(toHost.ready, hex('0001 0000 00200000 00010000'))],
    ['an unknown step', encodeFrame(toHost.failed, hex('08 00 0000 00000002'))],
    ['an unknown fault', encodeFrame(toHost.fault, hex('00 00 0000 00000002'))],
    ['an unknown way to end', encodeFrame(toHost.exit, hex(`02${'00'.repeat(39)}`))],
  ])('refuses %s', (_what, bytes) => {
    expect(() => decode(bytes)).toThrow(InitError);
  });

  test('random bytes are refused or wait for more, and never anything else', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 8 }), (chunks) => {
        try {
          decode(...chunks);
        } catch (error) {
          expect(error).toBeInstanceOf(InitError);
        }
      }),
    );
  });

  test('tells whether the stream may end', () => {
    const decoder = new FrameDecoder();
    expect(decoder.atFrameBoundary).toBe(true);
    for (const [at] of started.entries()) {
      expect([...decoder.push(started.subarray(at, at + 1))]).toHaveLength(at === started.length - 1 ? 1 : 0);
      expect(decoder.atFrameBoundary).toBe(at === started.length - 1);
    }
  });
});
