import { describe, expect, jest, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { InitSession } from '../../packages/container-engine/src/init/init-session.js';
import { path, run, withSandbox } from './sandbox.js';

// A container takes its time to start on a busy machine.
jest.setTimeout(120_000);

const quiet = { stdout: () => undefined, stderr: () => undefined };

async function* pieces(data: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < data.length; at += size) yield await Promise.resolve(data.subarray(at, at + size));
}

function numbered(bytes: number): Buffer {
  const data = Buffer.alloc(bytes);
  for (let at = 0; at + 4 <= bytes; at += 4) data.writeUInt32BE(at, at);
  return data;
}

describe('stdin', () => {
  test.each([
    [20_000, 1],
    [10_000_000, 997],
    [10_000_000, 65_536],
    [10_000_000, 300_000],
  ])('%i bytes arrive one for one through a slow reader, in pieces of %i', async (length, size) => {
    const data = numbered(length);
    const { outcome, stdout } = await run(['sh', '-c', 'sleep 0.3; cat | sha256sum'], {
      stdin: pieces(data, size),
    });
    expect(outcome).toMatchObject({ kind: 'ended', exit: { end: { kind: 'exited', code: 0 } } });
    expect(stdout.toString().split(' ')[0]).toBe(createHash('sha256').update(data).digest('hex'));
  });

  test('goes through and back at once: what is read is written, 10 MB', async () => {
    const data = numbered(10_000_000);
    const { stdout } = await run(['cat'], { stdin: pieces(data, 65_536) });
    expect(stdout.equals(data)).toBe(true);
  });

  test('an empty one is end of file, after the end frame and not before', async () => {
    const { stdout } = await run(['wc', '-c'], { stdin: pieces(Buffer.alloc(0), 1) });
    expect(stdout.toString()).toBe('0\n');
  });

  test('is a conversation: an answer to each line before the next is sent', async () => {
    await withSandbox({}, async (sandbox) => {
      const session = new InitSession(sandbox);
      const heard: string[] = [];
      let answer: () => void = () => undefined;
      async function* asking(): AsyncGenerator<Uint8Array> {
        for (const line of ['one', 'two', 'three']) {
          const answered = new Promise<void>((resolve) => (answer = resolve));
          yield Buffer.from(`${line}\n`);
          await answered;
        }
      }
      await session.run(
        { argv: ['sed', '-u', 's/^/> /'], cwd: '/', env: { PATH: path } },
        {
          ...quiet,
          stdout: (data) => {
            heard.push(data.toString());
            answer();
            return undefined;
          },
        },
        asking(),
      );
      expect(heard).toEqual(['> one\n', '> two\n', '> three\n']);
    });
  });

  test('a command that does not want it: the source is told to stop, the command is not held up', async () => {
    let given = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        given += 65_536;
        yield await Promise.resolve(Buffer.alloc(65_536));
      }
    }
    const closing = await run(['sh', '-c', 'head -c 10 | wc -c; exec <&-; sleep 0.2'], { stdin: endless() });
    expect(closing.outcome).toMatchObject({ exit: { end: { kind: 'exited', code: 0 } } });
    expect(closing.stdout.toString()).toBe('10\n');
    const ignoring = await run(['true'], { stdin: endless() });
    expect(ignoring.outcome).toMatchObject({ exit: { end: { kind: 'exited', code: 0 } } });
    expect(given).toBeLessThan(4_000_000);
    const missing = await run(['no-such-command'], { stdin: endless() });
    expect(missing.outcome).toMatchObject({ kind: 'not_started', step: 'exec' });
  });

  test('a kill is heard while stdin is full and nobody reads it', async () => {
    await withSandbox({}, async (sandbox) => {
      const session = new InitSession(sandbox);
      const started = new Promise<number>((resolve) => {
        void session
          .run(
            { argv: ['sleep', '600'], cwd: '/', env: { PATH: path } },
            { ...quiet, started: resolve },
            pieces(numbered(10_000_000), 65_536),
          )
          .then(
            (outcome) => (ended = outcome),
            () => undefined,
          );
      });
      let ended: unknown;
      await started;
      await sleep(300);
      await session.kill(15);
      while (ended === undefined) await sleep(5);
      expect(ended).toMatchObject({ kind: 'ended', exit: { end: { kind: 'signaled', signal: 15 } } });
    });
  });
});
