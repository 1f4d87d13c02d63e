import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { PassThrough, Readable } from 'node:stream';
import { mergeOutput } from './cli-output.js';

describe('the two streams of a program as one', () => {
  test('hold the exact bytes of each', async () => {
    const chunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(chunks, chunks, async (out, err) => {
        const parts = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
        const from = (pieces: readonly Uint8Array[]) =>
          Readable.from(
            pieces.map((p) => Buffer.from(p)),
            { objectMode: false },
          );
        for await (const { stream, data } of mergeOutput(from(out), from(err))) parts[stream].push(data);
        expect(Buffer.concat(parts.stdout)).toEqual(Buffer.concat(out));
        expect(Buffer.concat(parts.stderr)).toEqual(Buffer.concat(err));
      }),
    );
  });

  test('are read no further than the consumer reads', async () => {
    let pulled = 0;
    const endless = new Readable({
      highWaterMark: 1000,
      read() {
        pulled += 1;
        this.push(Buffer.alloc(1000));
      },
    });
    const output = mergeOutput(endless, new PassThrough());
    await output.next();
    await output.next();
    await new Promise((resolve) => setImmediate(resolve));
    expect(pulled).toBeLessThan(10);
    await output.return(undefined);
  });

  test('keep neither waiting for the other', async () => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const output = mergeOutput(stdout, stderr);
    stderr.write('e1');
    expect((await output.next()).value).toMatchObject({ stream: 'stderr' });
    const next = output.next();
    stdout.end('o1');
    expect((await next).value).toMatchObject({ stream: 'stdout' });
    const last = output.next();
    stderr.end();
    expect((await last).done).toBe(true);
  });

  test('fail when one is destroyed before its end, also while they are waited for', async () => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const output = mergeOutput(stdout, stderr);
    const next = output.next();
    stderr.destroy();
    await expect(next).rejects.toThrow('before its end');
    expect(stdout.listenerCount('readable')).toBe(0);
  });
});
