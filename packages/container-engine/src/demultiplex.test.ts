import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { OutputChunk } from './container-engine.js';
import { demultiplex } from './demultiplex.js';

function frame(type: number, data: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt8(type, 0);
  header.writeUInt32BE(data.length, 4);
  return Buffer.concat([header, data]);
}

async function collect(chunks: Iterable<Buffer>): Promise<Record<OutputChunk['stream'], Buffer>> {
  const parts = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  for await (const { stream, data } of demultiplex(asyncOf(chunks))) parts[stream].push(Buffer.from(data));
  return { stdout: Buffer.concat(parts.stdout), stderr: Buffer.concat(parts.stderr) };
}

async function* asyncOf(chunks: Iterable<Buffer>): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}

describe('demultiplex', () => {
  test('gives each stream its exact bytes, however the frames are torn', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(1, 2), fc.uint8Array({ maxLength: 40 })), { maxLength: 20 }),
        fc.array(fc.integer({ min: 1, max: 17 }), { minLength: 1, maxLength: 10 }),
        async (frames, cuts) => {
          const whole = Buffer.concat(frames.map(([type, data]) => frame(type, Buffer.from(data))));
          const torn: Buffer[] = [];
          for (let at = 0, n = 0; at < whole.length; n += 1) {
            const length = cuts[n % cuts.length] ?? 1;
            torn.push(whole.subarray(at, at + length));
            at += length;
          }
          const of = (type: number) =>
            Buffer.concat(frames.filter(([t]) => t === type).map(([, data]) => Buffer.from(data)));
          expect(await collect(torn)).toEqual({ stdout: of(1), stderr: of(2) });
        },
      ),
    );
  });

  test('a hundred thousand one-byte frames in one read neither recurse nor gather', async () => {
    const tiny = frame(1, Buffer.from('x'));
    const { stdout } = await collect([Buffer.concat(Array<Buffer>(100_000).fill(tiny))]);
    expect(stdout.length).toBe(100_000);
  });

  test('reads no further than its consumer does', async () => {
    let pulled = 0;
    function* endless() {
      for (;;) {
        pulled += 1;
        yield frame(1, Buffer.alloc(1000));
      }
    }
    const output = demultiplex(asyncOf(endless()));
    await output.next();
    await output.next();
    await output.return(undefined);
    expect(pulled).toBeLessThanOrEqual(3);
  });

  test('a header that claims 4 GiB costs no memory', async () => {
    const header = Buffer.from([1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    const { stdout } = await collect([header, Buffer.from('abc')]);
    expect(stdout.toString()).toBe('abc');
  });

  test('an unknown stream type is an error', async () => {
    await expect(collect([frame(7, Buffer.from('x'))])).rejects.toThrow('unknown type 7');
  });
});
