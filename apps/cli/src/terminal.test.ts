import { expect, test } from '@jest/globals';
import { Writable } from 'node:stream';
import { Terminal } from './terminal.js';

/** Takes one chunk at a time, and is called a terminal. */
function screen() {
  const state = { text: '', most: 0 };
  const stream = new Writable({
    highWaterMark: 10,
    write: (chunk: Buffer, _encoding, done) => {
      state.most = Math.max(state.most, stream.writableLength);
      state.text += chunk.toString();
      setImmediate(done);
    },
  });
  return { state, stream: Object.assign(stream, { isTTY: true, columns: 40 }) as never };
}

test('what is long waits for whoever reads', async () => {
  const { state, stream } = screen();
  const terminal = new Terminal({ stdin: process.stdin, stdout: stream, stderr: stream, plain: true });
  const chunks = Array.from({ length: 100 }, () => Buffer.from('12345'));
  await terminal.pour(
    (async function* () {
      for (const chunk of chunks) yield await Promise.resolve(chunk);
    })(),
  );
  expect(state.text).toHaveLength(500);
  expect(state.most).toBeLessThanOrEqual(20);
  terminal.bytes(Buffer.from('more'), 'stdout');
  expect((stream as Writable).writable).toBe(true);
});

test('progress is one line that steers nothing', () => {
  const { state, stream } = screen();
  const terminal = new Terminal({ stdin: process.stdin, stdout: stream, stderr: stream, plain: true });
  terminal.progress('saving a\u001b]0;title\u0007\nb\u202e');
  expect(state.text).toBe('\r\u001b[Ksaving a ]0;title b');
});
