import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { InitRequest } from '../../packages/container-engine/src/init/encode-request.js';
import { InitSession } from '../../packages/container-engine/src/init/init-session.js';
import {
  imageEnvironment,
  prestarting,
  runIn,
  withSandbox,
  type Asked,
  type Ran,
  type Sandbox,
} from './sandbox.js';

// A container takes its time to start on a busy machine.
jest.setTimeout(120_000);

const command = prestarting;
const print = ['python', '-c', 'print(1)'];
let env: Record<string, string>;

beforeAll(async () => {
  env = await imageEnvironment();
});

/** What an operator of the machine can do: nobody inside can, before the request is there. */
async function killPython(sandbox: Sandbox): Promise<void> {
  await sandbox.enter('1000', ['sh', '-c', 'kill -9 $(grep -l ^python /proc/[0-9]*/comm | cut -d/ -f3)']);
}

const pythons = async (sandbox: Sandbox) =>
  (await sandbox.top()).filter((line) => line.startsWith('python')).length;

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** How the command was started, with what it said. */
async function ask(argv: readonly string[], asked: Asked = {}, before?: (sandbox: Sandbox) => Promise<void>) {
  return withSandbox({ ...asked.sandbox, command }, async (sandbox) => {
    await before?.(sandbox);
    return runIn(sandbox, argv, { env, cwd: '/tmp', ...asked });
  });
}

const summary = ({ outcome, start, stdout }: Ran) => ({
  start,
  end: outcome.kind === 'ended' ? outcome.exit.end : outcome,
  alone: outcome.kind === 'ended' ? outcome.exit.alone : undefined,
  stdout: stdout.toString(),
});
const exited = (start: 'plain' | 'ahead', stdout: string, code = 0) => ({
  start,
  end: { kind: 'exited', code },
  alone: true,
  stdout,
});

describe('a python that is started ahead', () => {
  test('is told when it is up, before any request', async () => {
    await withSandbox({ command }, async (sandbox) => {
      const session = new InitSession(sandbox);
      await session.ready();
      expect(await session.warm()).toBe(true);
      expect(await pythons(sandbox)).toBe(1);
      session.close();
      // The host left before it had asked for anything.
      expect(await sandbox.end()).toBe(0);
    });
  });

  test('serves a request also when it comes before python is up', async () => {
    expect(summary(await ask(print))).toEqual(exited('ahead', '1\n'));
  });

  const code = ['python', '-c', 'import sys; print(len(sys.argv))'];
  test.each<[string, readonly string[], Asked | (() => Asked)]>([
    ['of a variable that python reads at its start', code, () => ({ env: { ...env, PYTHONUTF8: '1' } })],
    ['of another language', code, () => ({ env: { ...env, LANG: 'C' } })],
    ['of another locale', code, () => ({ env: { ...env, LC_ALL: 'C' } })],
    ['of a time zone', code, () => ({ env: { ...env, TZ: 'UTC' } })],
    ['of another home', code, () => ({ env: { ...env, HOME: '/tmp' } })],
    ['of another path', code, () => ({ env: { ...env, PATH: '/usr/bin:/bin' } })],
    ['of a library to load', code, () => ({ env: { ...env, LD_LIBRARY_PATH: '/tmp' } })],
    ['of a variable for malloc', code, () => ({ env: { ...env, MALLOC_ARENA_MAX: '1' } })],
    [
      'of no variables at all',
      ['/usr/bin/env', 'python3', '-c', 'import sys; print(len(sys.argv))'],
      { env: {} },
    ],
    ['of a limit on its stack', code, { rlimits: { stack: 4 << 20 } }],
    ['of a limit on its addresses', code, { rlimits: { as: 512 << 20 } }],
    ['of a limit on files that is too low to start with', code, { rlimits: { nofile: 32 } }],
    ['of an option of the interpreter', ['python', '-u', '-c', 'print(1)'], {}],
    ['of isolation', ['python', '-I', '-c', 'print(1)'], {}],
    ['of its path', ['/usr/bin/env', 'python', '-c', 'print(1)'], {}],
    ['of more than it is handed', [...code.slice(0, 2), `#${'x'.repeat(70_000)}\nprint(1)`], {}],
    ['it is not python', ['sh', '-c', 'echo 1'], {}],
  ])('is not used where the start would differ, because %s', async (_why, argv, asked) => {
    const ran = await ask(argv, typeof asked === 'function' ? asked() : asked);
    expect(summary(ran)).toEqual(exited('plain', '1\n'));
  });

  test('reads its program from stdin only when it is started for that', async () => {
    const stdin = (async function* () {
      yield await Promise.resolve(Buffer.from('print(1)'));
    })();
    expect(summary(await ask(['python'], { stdin }))).toEqual(exited('plain', '1\n'));
  });

  test('is ended before another command starts, and counts for nothing', async () => {
    const ran = await ask(['sh', '-c', 'ls -d /proc/[0-9]*'], {}, async (sandbox) => {
      await until(async () => (await pythons(sandbox)) === 1);
    });
    const { start, stdout, outcome } = ran;
    expect([start, stdout.toString().trim().split('\n').length]).toEqual(['plain', 2]);
    if (outcome.kind !== 'ended') throw new Error('It did not start.');
    // A shell, not a python.
    expect(outcome.exit.maxRssBytes).toBeLessThan(6 << 20);
  });

  test.each<[string, Partial<InitRequest>, string, number]>([
    ['a folder that is not there', { cwd: '/nowhere' }, 'chdir', 2],
    ['a folder that is a file', { cwd: '/etc/passwd' }, 'chdir', 20],
    ['a limit above the hard one', { rlimits: { nofile: 1 << 30 } }, 'limits', 1],
  ])('tells of %s as a plain start does', async (_what, asked, step, errno) => {
    const { outcome } = await ask(print, asked);
    expect(outcome).toEqual({ kind: 'not_started', step, errno });
  });

  test('gets its stdin in order, however early and late it comes', async () => {
    const stdin = (async function* () {
      for (let n = 0; n < 300; n += 1) yield await Promise.resolve(Buffer.from(`${n}\n`.repeat(200)));
    })();
    const program =
      'import sys; lines = sys.stdin.readlines(); print(len(lines), lines == sorted(lines, key=int))';
    const argv = ['python', '-c', program];
    expect(summary(await ask(argv, { stdin }))).toEqual(exited('ahead', '60000 True\n'));
  });
});

describe('a python that was started ahead and is lost', () => {
  test('while it waits: the host is told, and the request starts plainly', async () => {
    await withSandbox({ command }, async (sandbox) => {
      const session = new InitSession(sandbox);
      expect(await session.warm()).toBe(true);
      await killPython(sandbox);
      await until(async () => (await pythons(sandbox)) === 0);
      const out: string[] = [];
      let how = '';
      const outcome = await session.run(
        { argv: print, cwd: '/', env },
        {
          stdout: (data) => void out.push(data.toString()),
          stderr: () => undefined,
          started: (_pid, start) => (how = start),
        },
      );
      expect([outcome.kind, how, out.join('')]).toEqual(['ended', 'plain', '1\n']);
    });
  });

  test('by the OOM killer: the request starts plainly, and the kill is not held against it', async () => {
    await withSandbox({ command, memoryMb: 64 }, async (sandbox) => {
      const session = new InitSession(sandbox);
      expect(await session.warm()).toBe(true);
      // The kernel takes it first when anything of the container takes too much, and then that.
      await sandbox.enter('1000', ['python3', '-c', 'b"1" * (200 << 20)']);
      await until(async () => (await pythons(sandbox)) === 0);
      const outcome = await session.run(
        { argv: print, cwd: '/', env },
        { stdout: () => undefined, stderr: () => undefined },
      );
      expect(outcome).toMatchObject({
        kind: 'ended',
        exit: { end: { kind: 'exited', code: 0 }, oomKills: 0 },
      });
    });
  });

  test.each([2, 9, 15])(
    'by a kill with signal %i that came with the request: it ends of that',
    async (signal) => {
      await withSandbox({ command }, async (sandbox) => {
        const session = new InitSession(sandbox);
        await session.warm();
        const running = session.run(
          { argv: ['python', '-c', 'import time\nwhile True: time.sleep(0.01)'], cwd: '/', env },
          { stdout: () => undefined, stderr: () => undefined },
        );
        await Promise.resolve();
        await session.kill(signal, 20_000);
        expect(await running).toMatchObject({
          kind: 'ended',
          exit: { end: { kind: 'signaled', signal }, alone: true },
        });
      });
    },
  );

  test('by a kill of what does not fit: the command that was to replace it ends of that', async () => {
    await withSandbox({ command }, async (sandbox) => {
      const session = new InitSession(sandbox);
      await session.warm();
      const running = session.run(
        { argv: ['sleep', '60'], cwd: '/', env },
        { stdout: () => undefined, stderr: () => undefined },
      );
      await Promise.resolve();
      await session.kill(15, 20_000);
      expect(await running).toMatchObject({ kind: 'ended', exit: { end: { kind: 'signaled', signal: 15 } } });
    });
  });

  test.each([
    ['a shell', ['sh', '-c', 'echo 1']],
    ['a python all the same', ['python', '-c', 'print(1)']],
  ])('by a host that has no use for it: %s starts plainly', async (_name, argv) => {
    await withSandbox({ command }, async (sandbox) => {
      const session = new InitSession(sandbox);
      expect(await session.warm()).toBe(true);
      const out: string[] = [];
      let how: string | undefined;
      await session.clear();
      const outcome = await session.run(
        { argv, cwd: '/', env },
        {
          stdout: (data) => void out.push(data.toString()),
          stderr: () => undefined,
          started: (_pid, start) => (how = start),
        },
      );
      expect([outcome.kind, how, out.join('')]).toEqual(['ended', 'plain', '1\n']);
    });
  });

  test('because the container has no room for it: the host is told', async () => {
    await withSandbox({ command, pids: 1 }, async (sandbox) => {
      const session = new InitSession(sandbox);
      expect(await session.warm()).toBe(false);
    });
  });

  test('because its variables do not allow it', async () => {
    for (const variable of ['PATH=relative:/usr/bin', 'LD_PRELOAD=/x', 'HOME=/workspace/work'])
      await withSandbox({ command, env: [variable] }, async (sandbox) => {
        expect(await new InitSession(sandbox).warm()).toBe(false);
      });
  });
});

test('an init that was not told to starts nothing ahead, and says so', async () => {
  await withSandbox({}, async (sandbox) => {
    expect(await new InitSession(sandbox).warm()).toBe(false);
    expect(await sandbox.top()).toHaveLength(1);
  });
});
