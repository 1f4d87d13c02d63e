import type { Readable } from 'node:stream';
import type { OutputChunk } from './container-engine.js';

/**
 * Joins a program's two output streams, in the order in which they have something. It reads only when it
 * is pulled, so what nobody takes stays in the pipes and holds the program up.
 */
export async function* mergeOutput(stdout: Readable, stderr: Readable): AsyncGenerator<OutputChunk> {
  const sources = [
    { stream: 'stdout', source: stdout },
    { stream: 'stderr', source: stderr },
  ] as const;
  let wake: () => void = () => undefined;
  const onChange = () => wake();
  const events = ['readable', 'end', 'close', 'error'];
  for (const { source } of sources) for (const event of events) source.on(event, onChange);
  try {
    for (;;) {
      let idle = true;
      for (const { stream, source } of sources) {
        const data = source.read() as Buffer | null;
        if (data === null) continue;
        idle = false;
        yield { stream, data };
      }
      if (!idle) continue;
      for (const { source } of sources) {
        if (source.destroyed && !source.readableEnded) {
          throw source.errored ?? new Error('The output was let go of before its end.');
        }
      }
      if (sources.every(({ source }) => source.readableEnded)) return;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    for (const { source } of sources) for (const event of events) source.off(event, onChange);
  }
}
