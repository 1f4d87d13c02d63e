import { afterEach, describe, expect, test } from '@jest/globals';
import { PassThrough } from 'node:stream';
import { encodeFrame } from './encode-frame.js';
import type { InitChannel } from './init-channel.js';
import { InitError } from './init-error.js';
import { InitSession, type RunSinks } from './init-session.js';
import { limits, toHost, toInit } from './protocol.js';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const ready = encodeFrame(toHost.ready, hex('0001 0000 00100000 00010000'));
const prestarting = encodeFrame(toHost.ready, hex('0001 0001 00100000 00010000'));
const up = encodeFrame(toHost.ahead, hex('01 00 0000'));
const lost = encodeFrame(toHost.ahead, hex('02 00 0000'));
const started = encodeFrame(toHost.started, hex('00000002 00000000'));
const exit = encodeFrame(toHost.exit, Buffer.alloc(40));
const request = { argv: ['true'], cwd: '/', env: {} };

/** An init played by the test. */
class Played implements InitChannel {
  readonly output = new PassThrough();
  readonly sent: Buffer[] = [];
  closed = 0;
  breaks = false;

  write(bytes: Uint8Array): Promise<void> {
    if (this.breaks) return Promise.reject(new Error('EPIPE'));
    this.sent.push(Buffer.from(bytes));
    return Promise.resolve();
  }

  close(): void {
    this.closed += 1;
  }

  say(...frames: Buffer[]): void {
    for (const frame of frames) this.output.write(frame);
  }

  types(): number[] {
    return this.sent.map((frame) => frame.readUInt8(2));
  }

  async hears(count: number): Promise<void> {
    while (this.sent.length < count) await new Promise((resolve) => setImmediate(resolve));
  }
}

const streams: PassThrough[] = [];
afterEach(() => {
  for (const stream of streams.splice(0)) stream.destroy();
});

function play(): { init: Played; session: InitSession; sinks: RunSinks; told: string[] } {
  const init = new Played();
  streams.push(init.output);
  const told: string[] = [];
  const sinks: RunSinks = {
    started: (pid, start) => told.push(`pid ${pid} ${start}`),
    stdout: (data) => void told.push(`out ${data.toString()}`),
    stderr: (data) => void told.push(`err ${data.toString()}`),
  };
  return { init, session: new InitSession(init), sinks, told };
}

async function codeOf(failing: Promise<unknown>): Promise<string> {
  try {
    await failing;
  } catch (error) {
    expect(error).toBeInstanceOf(InitError);
    return (error as InitError).code;
  }
  throw new Error('It did not fail.');
}

describe('InitSession', () => {
  test('waits for ready, asks, hands the output on in order and ends on the last frame', async () => {
    const { init, session, sinks, told } = play();
    const running = session.run(request, sinks);
    await new Promise((resolve) => setImmediate(resolve));
    expect(init.sent).toHaveLength(0);

    init.say(ready);
    await session.ready();
    await init.hears(1);
    expect(init.types()).toEqual([toInit.request]);
    expect(session.gone).toBe(false);

    init.say(
      started,
      encodeFrame(toHost.stdout, Buffer.from('a')),
      encodeFrame(toHost.stderr, Buffer.from('b')),
      encodeFrame(toHost.stdout, Buffer.from('c')),
      exit,
    );
    expect(await running).toMatchObject({ kind: 'ended', exit: { end: { kind: 'exited', code: 0 } } });
    expect(told).toEqual(['pid 2 plain', 'out a', 'err b', 'out c']);
    expect(session.gone).toBe(true);
    expect(init.closed).toBe(1);
  });

  test('tells whether something waits for the request, and whether it was used', async () => {
    const { init, session, sinks, told } = play();
    let warm: boolean | undefined;
    void session.warm().then((known) => (warm = known));
    init.say(prestarting);
    await session.ready();
    expect(warm).toBeUndefined();
    init.say(up);
    expect(await session.warm()).toBe(true);
    // It is lost after all; that it was there is not taken back.
    init.say(lost);
    const running = session.run(request, sinks);
    await init.hears(1);
    init.say(encodeFrame(toHost.started, hex('00000002 00000001')), exit);
    expect(await running).toMatchObject({ kind: 'ended' });
    expect(told).toEqual(['pid 2 ahead']);
  });

  test.each([
    ['nothing is started ahead', [ready], false],
    ['it is lost', [prestarting, lost], false],
    ['it is up', [prestarting, up], true],
  ])('is warm or not: %s', async (_what, frames, warm) => {
    const { init, session } = play();
    init.say(...frames);
    expect(await session.warm()).toBe(warm);
  });

  test('a request need not wait for what is started ahead', async () => {
    const { init, session, sinks } = play();
    init.say(prestarting);
    const running = session.run(request, sinks);
    await init.hears(1);
    init.say(up, started, exit);
    expect(await running).toMatchObject({ kind: 'ended' });
    expect(await session.warm()).toBe(true);
  });

  test('an init that is lost is neither warm nor cold', async () => {
    const { init, session } = play();
    init.say(prestarting);
    await session.ready();
    init.output.end();
    expect(await codeOf(session.warm())).toBe('gone');
  });

  test('tells a command that did not start as a result', async () => {
    const { init, session, sinks } = play();
    init.say(ready);
    const running = session.run(request, sinks);
    await init.hears(1);
    init.say(encodeFrame(toHost.failed, hex('04 00 0000 00000002')));
    expect(await running).toEqual({ kind: 'not_started', step: 'chdir', errno: 2 });
  });

  test('a slow sink holds the output back', async () => {
    const { init, session, told } = play();
    let release: () => void = () => undefined;
    const running = session.run(request, {
      stdout: (data) => {
        told.push(data.toString());
        return new Promise<void>((resolve) => (release = resolve));
      },
      stderr: () => undefined,
    });
    init.say(ready);
    await init.hears(1);
    init.say(
      started,
      encodeFrame(toHost.stdout, Buffer.from('1')),
      encodeFrame(toHost.stdout, Buffer.from('2')),
      exit,
    );
    while (told.length < 1) await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(told).toEqual(['1']);
    release();
    while (told.length < 2) await new Promise((resolve) => setImmediate(resolve));
    release();
    expect(await running).toMatchObject({ kind: 'ended' });
  });

  test('a sink that fails ends the run with its own error and lets go of init', async () => {
    const { init, session } = play();
    const full = new Error('ENOSPC');
    const running = session.run(request, { stdout: () => Promise.reject(full), stderr: () => undefined });
    init.say(ready);
    await init.hears(1);
    init.say(started, encodeFrame(toHost.stdout, Buffer.from('1')));
    await expect(running).rejects.toBe(full);
    expect(init.closed).toBe(1);
  });

  test('sends stdin within its credit, then the end', async () => {
    const { init, session, sinks } = play();
    const big = Buffer.alloc(limits.stdinWindowBytes + 10, 1);
    const running = session.run(request, sinks, sourceOf(big));
    init.say(ready);
    await init.hears(2);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(init.types()).toEqual([toInit.request, toInit.stdin]);
    expect(init.sent[1]).toHaveLength(8 + limits.stdinWindowBytes);

    init.say(started, encodeFrame(toHost.stdinCredit, hex('00000004')));
    await init.hears(3);
    init.say(encodeFrame(toHost.stdinCredit, hex('00000100')));
    await init.hears(5);
    expect(init.sent.slice(2).map((frame) => frame.length - 8)).toEqual([4, 6, 0]);
    expect(init.types().at(-1)).toBe(toInit.stdinEnd);
    init.say(exit);
    await running;
  });

  test('stops the source when the command closes its stdin, and when it ends', async () => {
    for (const last of [[encodeFrame(toHost.stdinClosed, Buffer.alloc(0)), exit], [exit]]) {
      const { init, session, sinks } = play();
      let returned = 0;
      const endless: AsyncIterable<Uint8Array> = {
        [Symbol.asyncIterator]: () => ({
          next: () => new Promise<never>(() => undefined),
          return: () => {
            returned += 1;
            return Promise.resolve({ done: true, value: undefined });
          },
        }),
      };
      const running = session.run(request, sinks, endless);
      init.say(ready);
      await init.hears(1);
      init.say(started, ...last);
      await running;
      expect(returned).toBe(1);
      expect(init.types()).toEqual([toInit.request]);
    }
  });

  test('a stdin source that fails ends the run with its error', async () => {
    const { init, session, sinks } = play();
    const lost = new Error('upload lost');
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(Buffer.from('half'));
      throw lost;
    }
    const running = session.run(request, sinks, failing());
    init.say(ready);
    await expect(running).rejects.toBe(lost);
    expect(init.closed).toBe(1);
  });

  test('what was started ahead is cleared before the request, if anything was', async () => {
    for (const [hello, sent] of [
      [prestarting, [toInit.clear, toInit.request]],
      [ready, [toInit.request]],
    ] as const) {
      const { init, session, sinks } = play();
      await session.clear();
      init.say(hello);
      await session.ready();
      await session.clear();
      const running = session.run(request, sinks);
      await init.hears(sent.length);
      await session.clear();
      init.say(started, exit);
      await running;
      expect(init.types()).toEqual(sent);
    }
  });

  test('a kill is sent while something runs, and is nothing afterwards', async () => {
    const { init, session, sinks } = play();
    init.say(ready);
    await session.ready();
    await session.kill(9);
    expect(init.sent).toHaveLength(0);
    const running = session.run(request, sinks);
    await init.hears(1);
    await session.kill(15, 500);
    init.say(started, exit);
    await running;
    await session.kill(9);
    expect(init.types()).toEqual([toInit.request, toInit.kill]);
  });

  test('runs one request only', async () => {
    const { init, session, sinks } = play();
    const running = session.run(request, sinks);
    expect(await codeOf(session.run(request, sinks))).toBe('bad_request');
    init.say(ready);
    await init.hears(1);
    init.say(started, exit);
    await running;
    expect(await codeOf(session.run(request, sinks))).toBe('bad_request');
  });

  test.each<[string, Buffer[]]>([
    ['ready twice', [ready]],
    ['started before it was asked', [started]],
    ['failed before it was asked', [encodeFrame(toHost.failed, hex('04 00 0000 00000002'))]],
    ['exit before it was asked', [exit]],
    ['news of what is ahead, where nothing is,', [up]],
    ['output before it was asked', [encodeFrame(toHost.stdout, Buffer.from('x'))]],
    ['garbage', [Buffer.from('Segmentation fault\n')]],
  ])('%s while it waits makes it useless', async (_what, frames) => {
    const { init, session, sinks } = play();
    init.say(ready);
    await session.ready();
    init.say(...frames);
    while (!session.gone) await new Promise((resolve) => setImmediate(resolve));
    expect(await codeOf(session.run(request, sinks))).toBe('protocol');
    expect(init.closed).toBe(1);
  });

  test.each<[string, Buffer[]]>([
    ['output before started', [encodeFrame(toHost.stderr, Buffer.from('x'))]],
    ['exit before started', [exit]],
    ['started twice', [started, started]],
    ['news of what is ahead, where nothing is,', [up]],
    ['failed after started', [started, encodeFrame(toHost.failed, hex('05 00 0000 00000002'))]],
    ['credit for stdin that there is none of', [started, encodeFrame(toHost.stdinCredit, hex('00000001'))]],
    ['a torn frame of garbage', [started, hex('53 62 ff')]],
  ])('%s ends the run', async (_what, frames) => {
    const { init, session, sinks } = play();
    const running = session.run(request, sinks);
    init.say(ready);
    await init.hears(1);
    init.say(...frames);
    init.output.end();
    expect(['protocol', 'gone']).toContain(await codeOf(running));
  });

  test('news of what is ahead after the start ends the run', async () => {
    const { init, session, sinks } = play();
    const running = session.run(request, sinks);
    init.say(prestarting);
    await init.hears(1);
    init.say(started, lost);
    expect(await codeOf(running)).toBe('protocol');
  });

  test('credit for more than was sent ends the run', async () => {
    const { init, session, sinks } = play();
    const running = session.run(request, sinks, sourceOf(Buffer.from('abc')));
    init.say(ready);
    await init.hears(3);
    init.say(started, encodeFrame(toHost.stdinCredit, hex('00000004')));
    expect(await codeOf(running)).toBe('protocol');
  });

  test('an init that is lost is told as such: end, broken stream, broken pipe, fault, close', async () => {
    const endings: [string, (init: Played, session: InitSession) => void][] = [
      ['gone', (init) => init.output.end()],
      ['gone', (init) => init.output.destroy(new Error('ECONNRESET'))],
      ['fault', (init) => init.say(encodeFrame(toHost.fault, hex('05 81 0000 00000000')))],
      ['gone', (_init, session) => session.close()],
    ];
    for (const [code, end] of endings) {
      const { init, session, sinks } = play();
      const running = session.run(request, sinks);
      init.say(ready);
      await init.hears(1);
      end(init, session);
      expect(await codeOf(running)).toBe(code);
      expect(init.closed).toBe(1);
    }
    const { init, session, sinks } = play();
    init.breaks = true;
    init.say(ready);
    expect(await codeOf(session.run(request, sinks))).toBe('gone');
  });

  test('an init that never comes up fails ready and run alike', async () => {
    const { init, session, sinks } = play();
    init.output.end();
    expect(await codeOf(session.ready())).toBe('gone');
    expect(await codeOf(session.run(request, sinks))).toBe('gone');
  });
});

async function* sourceOf(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}
