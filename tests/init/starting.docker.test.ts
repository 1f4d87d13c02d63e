import { describe, expect, jest, test } from '@jest/globals';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type InitOutcome, InitSession } from '../../packages/container-engine/src/init/init-session.js';
import { path, run, runIn, withSandbox } from './sandbox.js';

// A container takes its time to start on a busy machine.
jest.setTimeout(120_000);

function endOf(outcome: InitOutcome): unknown {
  return outcome.kind === 'ended' ? outcome.exit.end : outcome;
}

async function inParallel<T>(
  items: readonly T[],
  at: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const lane = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: at }, lane));
}

describe('how a command ends', () => {
  test.each([0, 1, 3, 126, 127, 128, 255])('exit code %i', async (code) => {
    const { outcome } = await run(['sh', '-c', `exit ${code}`]);
    expect(endOf(outcome)).toEqual({ kind: 'exited', code });
  });

  test('every signal that ends a process is told, by number', async () => {
    const ignoredOrStopping = [17, 18, 19, 20, 21, 22, 23, 28];
    const signals = [...Array(64).keys()].map((n) => n + 1).filter((n) => !ignoredOrStopping.includes(n));
    await inParallel(signals, 4, async (signal) => {
      const { outcome } = await run(['dash', '-c', `kill -${signal} $$; sleep 60`]);
      expect({ signal, end: endOf(outcome) }).toEqual({ signal, end: { kind: 'signaled', signal } });
    });
  });

  test('a signal that came with the request is not lost between the fork and its execve', async () => {
    await withSandbox({}, async (sandbox) => {
      const session = new InitSession(sandbox);
      await session.warm(); // It is ready, with nothing started ahead.
      const running = session.run(
        { argv: ['sleep', '60'], cwd: '/', env: { PATH: path } },
        { stdout: () => undefined, stderr: () => undefined },
      );
      await Promise.resolve();
      await session.kill(15, 30_000);
      expect(endOf(await running)).toEqual({ kind: 'signaled', signal: 15 });
    });
  });

  test('43: a segfault is told and leaves no core, even where the folder is writable', async () => {
    const { outcome, stdout } = await run(
      ['bash', '-c', 'ulimit -c; ulimit -c unlimited 2>&1; (kill -SEGV $BASHPID); ls -A; kill -SEGV $$'],
      { cwd: '/tmp' },
    );
    expect(endOf(outcome)).toEqual({ kind: 'signaled', signal: 11 });
    expect(stdout.toString()).toMatch(/^0\n.*cannot modify limit.*\n$/);
  });

  test('memory, processor and wall time are those of the command', async () => {
    const program =
      'import time; x = b"1" * (60 << 20); t = time.process_time()\nwhile time.process_time() < t + 0.3: pass';
    const { outcome } = await run(['python3', '-c', program]);
    if (outcome.kind !== 'ended') throw new Error('It did not start.');
    const { cpuMicros, wallMicros, peakBytes, maxRssBytes, oomKills, alone } = outcome.exit;
    expect(cpuMicros).toBeGreaterThan(300_000);
    expect(wallMicros).toBeGreaterThan(300_000);
    expect(peakBytes).toBeGreaterThan(60 << 20);
    expect(maxRssBytes).toBeGreaterThan(60 << 20);
    expect({ oomKills, alone }).toEqual({ oomKills: 0, alone: true });
  });

  test('processor time of processes that nobody waits for is counted', async () => {
    const program = [
      'import os, signal, time',
      'signal.signal(signal.SIGCHLD, signal.SIG_IGN)',
      'r, w = os.pipe()',
      'if os.fork() == 0:',
      '    t = time.process_time()',
      '    while time.process_time() < t + 0.4: pass',
      '    os._exit(0)',
      'os.close(w)',
      'os.read(r, 1)',
    ].join('\n');
    const { outcome } = await run(['python3', '-c', program]);
    expect(outcome.kind === 'ended' && outcome.exit.cpuMicros).toBeGreaterThan(400_000);
  });
});

describe('what the command gets', () => {
  test('its environment is the one asked for, whole, and nothing of the container or of init', async () => {
    const env = { A: '1', EMPTY: '', 'odd name': 'x=y', U: 'ü\n' };
    const { stdout } = await run(['/usr/bin/env', '-0'], {
      env,
      sandbox: { env: ['SECRET=of-the-container'] },
    });
    expect(stdout.toString().split('\0').sort()).toEqual(['', 'A=1', 'EMPTY=', 'U=ü\n', 'odd name=x=y']);
  });

  test('arguments arrive byte for byte', async () => {
    const argv = ['a b', '', '$(id)', '*', 'ü😀', '-n', '\n'];
    const { stdout } = await run(['printf', '%s\\0', ...argv]);
    expect(stdout.toString().split('\0')).toEqual([...argv, '']);
  });

  test('only stdin, stdout and stderr are open', async () => {
    const { stdout } = await run([
      'python3',
      '-c',
      'import os; print(sorted(map(int, os.listdir("/proc/self/fd"))))',
    ]);
    // The fourth is the folder being listed.
    expect(stdout.toString()).toBe('[0, 1, 2, 3]\n');
  });

  test('its own session, default signals, nothing blocked, umask and limits as asked', async () => {
    const program = [
      'import os, resource',
      'print(os.getsid(0) == os.getpid() == os.getpgid(0), os.getppid())',
      'status = dict(l.split(":\\t") for l in open("/proc/self/status").read().splitlines() if ":\\t" in l)',
      'print(status["SigBlk"], status["NoNewPrivs"])',
      'print(oct(os.umask(0)))',
      'print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_FSIZE))',
      'print(open("/proc/self/oom_score_adj").read(), end="")',
    ].join('\n');
    const { stdout } = await run(['python3', '-c', program], {
      umask: 0o77,
      rlimits: { nofile: 64, fsize: 4096 },
    });
    expect(stdout.toString().split('\n')).toEqual([
      'True 1',
      `${'0'.repeat(16)} 1`,
      '0o77',
      '(64, 64) (4096, 4096)',
      '1000',
      '',
    ]);
    // Python ignores two signals itself; grep does not.
    const { stdout: signals } = await run(['grep', '-E', '^Sig(Ign|Blk)', '/proc/self/status']);
    expect(signals.toString()).toBe(`SigBlk:\t${'0'.repeat(16)}\nSigIgn:\t${'0'.repeat(16)}\n`);
  });

  test('36: without stdin it reads end of file at once', async () => {
    const { outcome, stdout } = await run(['sh', '-c', 'cat | wc -c; readlink /proc/self/fd/0']);
    expect(stdout.toString()).toBe('0\n/dev/null\n');
    expect(endOf(outcome)).toEqual({ kind: 'exited', code: 0 });
  });

  test('cwd is entered when the request comes, not before', async () => {
    const { stdout } = await run(['pwd'], { cwd: '/usr/../tmp' });
    expect(stdout.toString()).toBe('/tmp\n');
    // Init itself stays out of any folder that could be a mount point.
    const { stderr } = await run(['ls', '/proc/1/cwd/']);
    expect(stderr.toString()).toContain('Permission denied');
  });

  test.each<[string, Record<string, string>, string, unknown]>([
    [
      'its folders, one after the other',
      { PATH: '/nowhere:/etc:/usr/bin' },
      '/',
      { kind: 'exited', code: 0 },
    ],
    ['the usual ones where there is no PATH', {}, '/', { kind: 'exited', code: 0 }],
    ['nothing else', { PATH: '/nowhere' }, '/', { kind: 'not_started', step: 'exec', errno: 2 }],
    ['never the current folder', { PATH: ':' }, '/usr/bin', { kind: 'not_started', step: 'exec', errno: 2 }],
  ])('PATH of the request is searched: %s', async (_what, env, cwd, end) => {
    expect(endOf((await run(['true'], { env, cwd })).outcome)).toEqual(end);
  });
});

describe('a command that cannot start', () => {
  test.each<[string, readonly string[], object, string, number]>([
    ['not found on PATH', ['no-such-command'], {}, 'exec', 2],
    ['not found by path', ['/no/such'], {}, 'exec', 2],
    ['an empty name', [''], {}, 'exec', 2],
    ['a file in place of a folder', ['/etc/passwd/x'], {}, 'exec', 20],
    ['not executable', ['/etc/passwd'], {}, 'exec', 13],
    ['a folder', ['/tmp'], {}, 'exec', 13],
    ['not executable on PATH', ['passwd'], { env: { PATH: '/etc' } }, 'exec', 13],
    ['a cwd that is missing', ['true'], { cwd: '/no/such' }, 'chdir', 2],
    ['a cwd that is a file', ['true'], { cwd: '/etc/passwd' }, 'chdir', 20],
    ['a cwd that may not be entered', ['true'], { cwd: '/root' }, 'chdir', 13],
    ['a limit above the hard one', ['true'], { rlimits: { nofile: 1 << 30 } }, 'limits', 1],
    ['an argument over the limit of the kernel', ['true', 'x'.repeat(131_072)], {}, 'exec', 7],
  ])('%s', async (_what, argv, asked, step, errno) => {
    const { outcome, stdout, stderr } = await run(argv, asked);
    expect(outcome).toEqual({ kind: 'not_started', step, errno });
    expect([stdout.length, stderr.length]).toEqual([0, 0]);
  });

  test.each<[string, string, string, number]>([
    ['a script whose interpreter is missing', '#!/no/such\n', 'interpreter', 2],
    ['neither a program nor a script', 'echo\n', 'exec', 8],
  ])('%s', async (_what, content, step, errno) => {
    const folder = await mkdtemp(join(tmpdir(), 'secbox-init-'));
    try {
      await chmod(folder, 0o755);
      await writeFile(join(folder, 'tool'), content, { mode: 0o755 });
      const sandbox = { folder };
      const byPath = await run(['/folder/tool'], { sandbox });
      const byName = await run(['tool'], { sandbox, env: { PATH: `/folder:${path}` } });
      for (const { outcome } of [byPath, byName])
        expect(outcome).toEqual({ kind: 'not_started', step, errno });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('the longest argument of the kernel is taken', async () => {
    const { stdout } = await run(['sh', '-c', 'printf %s "$1" | wc -c', 'sh', 'x'.repeat(131_071)]);
    expect(stdout.toString().trim()).toBe('131071');
  });

  test('no process may be made: told, not a hang', async () => {
    // One place for init; the runtime needs its own while it sets the container up.
    await withSandbox({ pids: 64 }, async (sandbox) => {
      await sandbox.update({ PidsLimit: 1 });
      const { outcome } = await runIn(sandbox, ['true']);
      expect(outcome).toEqual({ kind: 'not_started', step: 'fork', errno: 11 });
    });
  });
});

describe('the init itself', () => {
  test('is of no use to anybody but PID 1', async () => {
    const { outcome, stderr } = await run(['/sbin/secbox-init'], { env: { PATH: path } });
    expect(endOf(outcome)).toEqual({ kind: 'exited', code: 64 });
    expect(stderr.toString()).toBe('secbox-init: must be PID 1\n');
    expect((await run(['/sbin/secbox-init', '--version'])).stdout.toString()).toBe(
      'secbox-init, protocol 1\n',
    );
    expect(endOf((await run(['/sbin/secbox-init', '--help'])).outcome)).toEqual({ kind: 'exited', code: 64 });
  });
});
