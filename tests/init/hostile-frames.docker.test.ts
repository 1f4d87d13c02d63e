import { describe, expect, jest, test } from '@jest/globals';
import {
  encodeClear,
  encodeFrame,
  encodeKill,
  encodeStdin,
  encodeStdinEnd,
} from '../../packages/container-engine/src/init/encode-frame.js';
import { encodeRequest, type InitRequest } from '../../packages/container-engine/src/init/encode-request.js';
import { FrameDecoder } from '../../packages/container-engine/src/init/frame-decoder.js';
import type { InitFrame } from '../../packages/container-engine/src/init/init-frame.js';
import { type FaultName, limits, toInit } from '../../packages/container-engine/src/init/protocol.js';
import { imageEnvironment, path, prestarting, type Sandbox, withSandbox } from './sandbox.js';

// A container takes its time to start on a busy machine.
jest.setTimeout(120_000);

const plain: InitRequest = {
  argv: ['sh', '-c', 'setsid sleep 600 & sleep 600'],
  cwd: '/',
  env: { PATH: path },
  streamsStdin: false,
};
const sleeping = encodeRequest(plain);
const reading = encodeRequest({ ...plain, streamsStdin: true });

/** The payload of a request, to be spoilt. */
function spoilt(spoil: (payload: Buffer) => Buffer): Buffer {
  return encodeFrame(toInit.request, spoil(Buffer.from(encodeRequest(plain).subarray(8))));
}
const put16 = (at: number, value: number) => spoilt((payload) => (payload.writeUInt16BE(value, at), payload));
const put32 = (at: number, value: number) => spoilt((payload) => (payload.writeUInt32BE(value, at), payload));
const strings = (argc: number, envc: number, text: string) =>
  spoilt((payload) => {
    payload.writeUInt32BE(argc, 8);
    payload.writeUInt32BE(envc, 12);
    return Buffer.concat([payload.subarray(0, 16), Buffer.from(text)]);
  });

/** Everything init says until its last frame, after which it is let go. */
async function hear(sandbox: Sandbox): Promise<InitFrame[]> {
  const decoder = new FrameDecoder();
  const frames: InitFrame[] = [];
  for await (const chunk of sandbox.output) {
    for (const frame of decoder.push(chunk)) {
      frames.push(frame);
      if (['failed', 'exit', 'fault'].includes(frame.type)) return frames;
    }
  }
  throw new Error('Init ended without its last frame.');
}

const hostile: [string, FaultName, Buffer[]][] = [
  ['another protocol', 'magic', [Buffer.from('GET / HTTP/1.1\r\n\r\n')]],
  ['zeros', 'magic', [Buffer.alloc(4096)]],
  ['a wrong second byte', 'magic', [Buffer.from('5300810000000010', 'hex')]],
  ['a byte that must be 0', 'magic', [Buffer.from('5362810100000010', 'hex')]],
  ['an unknown type', 'type', [encodeFrame(0x86, Buffer.alloc(0))]],
  ['a frame that only init sends', 'type', [encodeFrame(0x01, Buffer.alloc(12))]],
  ['a request of 4 GiB', 'length', [Buffer.from('53628100ffffffff', 'hex')]],
  ['a request of one byte too many', 'length', [Buffer.from('5362810000100001', 'hex')]],
  ['a request without a fixed part', 'length', [encodeFrame(toInit.request, Buffer.alloc(15))]],
  ['stdin before the request', 'order', [encodeStdin(Buffer.from('x'))]],
  ['the end of stdin before the request', 'order', [encodeStdinEnd()]],
  ['a kill before the request', 'order', [encodeKill(9, 0)]],
  ['another version', 'request', [put16(0, 2)]],
  ['an unknown flag', 'request', [put16(2, 0x8000)]],
  ['a umask out of range', 'request', [put16(4, 0o1000)]],
  ['more rlimits than there are bytes', 'request', [put16(6, 8)]],
  ['too many rlimits', 'request', [put16(6, 9)]],
  [
    'an unknown rlimit',
    'request',
    [
      spoilt(
        (p) => (p.writeUInt16BE(1, 6), Buffer.concat([p.subarray(0, 16), Buffer.alloc(9), p.subarray(16)])),
      ),
    ],
  ],
  ['no argv', 'request', [strings(0, 0, '/\0')]],
  ['more arguments than strings', 'request', [strings(2, 0, '/\0a\0')]],
  ['fewer arguments than strings', 'request', [strings(1, 0, '/\0a\0b\0')]],
  ['four billion arguments', 'request', [put32(8, 0xffffffff)]],
  ['four billion variables', 'request', [put32(12, 0xffffffff)]],
  ['a last string without an end', 'request', [strings(1, 0, '/\0a')]],
  ['no strings at all', 'request', [strings(1, 0, '')]],
  ['a relative cwd', 'request', [strings(1, 0, 'tmp\0a\0')]],
  ['an empty cwd', 'request', [strings(1, 0, '\0a\0')]],
  ['a variable without =', 'request', [strings(1, 1, '/\0a\0PATH\0')]],
  ['a variable without a name', 'request', [strings(1, 1, '/\0a\0=x\0')]],
  ['a second request', 'order', [sleeping, sleeping]],
  ['stdin that was not announced', 'order', [sleeping, encodeStdin(Buffer.from('x'))]],
  ['stdin after its end', 'order', [reading, encodeStdinEnd(), encodeStdin(Buffer.from('x'))]],
  ['a second end of stdin', 'order', [reading, encodeStdinEnd(), encodeStdinEnd()]],
  ['stdin without bytes', 'length', [reading, encodeFrame(toInit.stdin, Buffer.alloc(0))]],
  ['stdin longer than the window', 'length', [reading, Buffer.from('5362820000010001', 'hex')]],
  [
    'stdin past the window',
    'window',
    [reading, ...new Array<Buffer>(40).fill(encodeStdin(Buffer.alloc(60_000)))],
  ],
  ['an end of stdin with bytes', 'length', [reading, encodeFrame(toInit.stdinEnd, Buffer.from('x'))]],
  ['a clearing when it is too late', 'order', [sleeping, encodeClear()]],
  ['a clearing with a payload', 'length', [encodeFrame(toInit.clear, Buffer.from('x'))]],
  ['a short kill', 'length', [sleeping, encodeFrame(toInit.kill, Buffer.from('\x09'))]],
  ['a kill without a signal', 'kill', [sleeping, encodeFrame(toInit.kill, Buffer.alloc(8))]],
  [
    'a kill with signal 65',
    'kill',
    [sleeping, encodeFrame(toInit.kill, Buffer.from('4100000000000000', 'hex'))],
  ],
  [
    'a kill with a byte that must be 0',
    'kill',
    [sleeping, encodeFrame(toInit.kill, Buffer.from('0901000000000000', 'hex'))],
  ],
  ['garbage while it runs', 'magic', [sleeping, Buffer.from('\n\n\n\n\n\n\n\n')]],
];

describe('frames that a host must not send', () => {
  test.each(hostile)('%s', async (_what, fault, frames) => {
    await withSandbox({}, async (sandbox) => {
      const heard = hear(sandbox);
      for (const frame of frames) await sandbox.write(frame).catch(() => undefined);
      const told = await heard;
      expect(told[0]).toEqual({ type: 'ready', version: 1, startsAhead: false });
      // Whatever had started is dead, and its output is nobody's.
      expect(told.at(-1)).toEqual({ type: 'fault', fault });
      expect(await sandbox.end()).toBe(2);
    });
  });
});

describe('frames that a host must not send to an init that has a python up', () => {
  const lanes = 4;

  test.each(['sh', 'python'])('every one of them, about a command that is %s', async (which) => {
    const env = await imageEnvironment();
    const argv = which === 'sh' ? plain.argv : ['python', '-c', 'import time; time.sleep(600)'];
    const request = (streamsStdin: boolean) => encodeRequest({ ...plain, argv, env, streamsStdin });
    const asked = new Map([
      [sleeping, request(false)],
      [reading, request(true)],
    ]);
    const left = [...hostile];
    const lane = async () => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        const [what, fault, frames] = next;
        await withSandbox({ command: prestarting }, async (sandbox) => {
          const heard = hear(sandbox);
          for (const frame of frames) await sandbox.write(asked.get(frame) ?? frame).catch(() => undefined);
          const told = await heard;
          expect(told[0]).toEqual({ type: 'ready', version: 1, startsAhead: true });
          expect([what, told.at(-1)]).toEqual([what, { type: 'fault', fault }]);
          expect(await sandbox.end()).toBe(2);
        });
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
  });
});

describe('frames cut anywhere', () => {
  const request = encodeRequest({
    argv: ['sh', '-c', 'cat; exit 7'],
    cwd: '/tmp',
    env: { PATH: path },
    streamsStdin: true,
    rlimits: { nofile: 64 },
  });
  const all = Buffer.concat([
    request,
    encodeStdin(Buffer.from('hello ')),
    encodeStdin(Buffer.from('world')),
    encodeStdinEnd(),
  ]);

  test.each([1, 2, 7, 8, 9, 31, all.length])('pieces of %i bytes, each one packet', async (size) => {
    await withSandbox({}, async (sandbox) => {
      const heard = hear(sandbox);
      for (let at = 0; at < all.length; at += size) {
        await sandbox.write(all.subarray(at, at + size));
        await new Promise((resolve) => setImmediate(resolve));
      }
      const frames = await heard;
      const output = frames.flatMap((frame) => (frame.type === 'stdout' ? [frame.data.toString()] : []));
      expect(output.join('')).toBe('hello world');
      expect(frames.at(-1)).toMatchObject({ type: 'exit', exit: { end: { kind: 'exited', code: 7 } } });
    });
  });

  test('the largest request there is', async () => {
    const name = (n: number) => `V${n}`;
    const value = 'v'.repeat(120_000);
    const env = { PATH: path, ...Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8].map((n) => [name(n), value])) };
    const used = encodeRequest({ ...plain, argv: ['sh', '-c', 'env | wc -c', ''], env }).length - 8;
    const full = encodeRequest({
      ...plain,
      argv: ['sh', '-c', 'env | wc -c', 'x'.repeat(limits.requestBytes - used)],
      env,
    });
    expect(full).toHaveLength(8 + limits.requestBytes);
    await withSandbox({}, async (sandbox) => {
      const heard = hear(sandbox);
      await sandbox.write(full);
      const frames = await heard;
      const output = frames.flatMap((frame) => (frame.type === 'stdout' ? [frame.data.toString()] : []));
      expect(Number(output.join(''))).toBeGreaterThan(960_000);
      expect(frames.at(-1)).toMatchObject({ type: 'exit', exit: { end: { kind: 'exited', code: 0 } } });
    });
  });

  test('4096 arguments and 4096 variables', async () => {
    const argv = ['sh', '-c', 'echo $#; env | grep -c ^V', 'sh', ...new Array<string>(4092).fill('a')];
    const env = Object.fromEntries([...new Array(4095).keys()].map((n) => [`V${n}`, '1']));
    await withSandbox({}, async (sandbox) => {
      const heard = hear(sandbox);
      await sandbox.write(encodeRequest({ ...plain, argv, env: { PATH: path, ...env } }));
      const output = (await heard).flatMap((frame) =>
        frame.type === 'stdout' ? [frame.data.toString()] : [],
      );
      expect(output.join('')).toBe('4092\n4095\n');
    });
  });

  test('what comes after the end is heard and means nothing', async () => {
    await withSandbox({}, async (sandbox) => {
      const channel = sandbox.held();
      const decoder = new FrameDecoder();
      const source = channel.output[Symbol.asyncIterator]();
      await sandbox.write(encodeRequest({ ...plain, argv: ['true'] }));
      for (let last = ''; last !== 'exit';) {
        const { value } = (await source.next()) as { value: Uint8Array };
        for (const frame of decoder.push(value)) last = frame.type;
      }
      await sandbox.write(
        Buffer.concat([
          encodeKill(9, 0),
          encodeStdin(Buffer.from('late')),
          Buffer.from('garbage'.repeat(10_000)),
        ]),
      );
      sandbox.close();
      expect(await sandbox.end()).toBe(0);
      // Not a byte more was said.
      expect(await source.next()).toMatchObject({ done: true });
    });
  });
});
