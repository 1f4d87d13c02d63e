import { describe, expect, jest, test } from '@jest/globals';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { InitSession } from '../../packages/container-engine/src/init/init-session.js';
import { path, run, runIn, withSandbox } from './sandbox.js';

// A container takes its time to start on a busy machine.
jest.setTimeout(120_000);

/** Whatever is left behind sleeps for ten minutes: an end within this is not luck. */
const atOnce = 10_000;
const quiet = { stdout: () => undefined, stderr: () => undefined };
const clean = { kind: 'ended', exit: { end: { kind: 'exited', code: 0 }, alone: true } };
const python = (...lines: string[]) => ['python3', '-c', lines.join('\n')];

/** The last frame has come and init has not been let go of yet: only init lives. */
async function runAndLook(argv: readonly string[], pids = 64): Promise<{ millis: number; stdout: string }> {
  return withSandbox({ pids }, async (sandbox) => {
    const { outcome, millis, stdout } = await runIn(sandbox, argv, { held: true });
    expect(outcome).toMatchObject(clean);
    expect(await sandbox.top()).toEqual(['/sbin/secbox-init']);
    expect(millis).toBeLessThan(atOnce);
    return { millis, stdout: stdout.toString() };
  });
}

describe('37: nothing survives the command', () => {
  test.each<[string, string]>([
    ['in the background', 'sleep 600 &'],
    ['in a session of its own', 'setsid sleep 600 &'],
    ['forked twice', '(setsid sh -c "sleep 600 & sleep 600" & ) ; :'],
    [
      'deaf to every signal it can be',
      'trap "" TERM HUP INT QUIT USR1; (trap "" TERM; sleep 600; sleep 600) &',
    ],
    ['stopped', 'sleep 600 & kill -STOP $!'],
    ['holding the pipes and writing on', '(while :; do echo x; echo y >&2; done) &'],
    ['a tree of forty', 'for i in $(seq 20); do (sleep 600 & sleep 600) & done'],
  ])('%s', async (_what, script) => {
    await runAndLook(['bash', '-c', `${script}\necho done`]);
  });

  test('its output is there to the last byte, though others hold the pipes', async () => {
    const { stdout } = await runAndLook([
      'bash',
      '-c',
      'sleep 600 & head -c 60000 /dev/zero | tr "\\0" z; echo end',
    ]);
    expect(stdout).toBe(`${'z'.repeat(60_000)}end\n`);
  });

  test('30: a fork bomb', async () => {
    const bomb = python(
      'import os, time',
      'if os.fork() == 0:',
      '    while True:',
      '        try: os.fork()',
      '        except OSError: pass',
      'time.sleep(1)',
      'os._exit(0)',
    );
    await runAndLook(bomb, 256);
  });

  test('a full pids cgroup', async () => {
    const { stdout } = await runAndLook(
      python(
        'import os, signal, time',
        'n = 0',
        'try:',
        '    while True:',
        '        if os.fork() == 0: time.sleep(600)',
        '        n += 1',
        'except OSError: pass',
        'print(n, flush=True)',
        'os._exit(0)',
      ),
    );
    expect(Number(stdout)).toBeGreaterThan(40);
  });

  test('orphans are buried while the command runs: three thousand, with room for far fewer at once', async () => {
    const { outcome, stderr } = await run(['bash', '-c', 'for i in $(seq 3000); do (true & ) ; done'], {
      sandbox: { pids: 128 },
    });
    expect(outcome).toMatchObject(clean);
    // On a busy machine bash may have to try again; it gives up only where nothing is buried.
    expect(stderr.toString().replaceAll('bash: fork: retry: Resource temporarily unavailable\n', '')).toBe(
      '',
    );
  });

  test('five hundred that died in the background are buried', async () => {
    const { stdout } = await runAndLook(
      ['bash', '-c', 'for i in $(seq 500); do setsid sleep 600 & disown; kill -9 $!; done; echo end'],
      1024,
    );
    expect(stdout).toBe('end\n');
  });
});

describe('pipes that outlive their processes', () => {
  test('kept in a queue of the kernel, in a circle', async () => {
    await runAndLook(
      python(
        'import array, os, socket',
        'a, b = socket.socketpair()',
        'fds = array.array("i", [1, 2, a.fileno(), b.fileno()])',
        'a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])',
        'os.write(1, b"kept")',
        'os._exit(0)',
      ),
    );
  });

  test('handed to another container, which keeps them open and writes', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'secbox-init-'));
    await chmod(folder, 0o777);
    try {
      await withSandbox({ folder }, async (other) => {
        const session = new InitSession(other);
        const up = new Promise<void>((resolve) => {
          const taking = python(
            'import array, os, socket',
            's = socket.socket(socket.AF_UNIX); s.bind("/folder/s"); s.listen(); print("up", flush=True)',
            'c = s.accept()[0]',
            '_, anc, _, _ = c.recvmsg(1, socket.CMSG_SPACE(4))',
            'fd = array.array("i", anc[0][2])[0]',
            'os.set_blocking(fd, False)',
            'c.send(b"k")',
            'while True:',
            '    try: os.write(fd, b"foreign" * 1000)',
            '    except OSError: pass',
          );
          const stdout = () => {
            resolve();
            return undefined;
          };
          const sinks = { ...quiet, stdout };
          session.run({ argv: taking, cwd: '/', env: { PATH: path } }, sinks).catch(() => undefined);
        });
        await up;
        const { outcome, stdout } = await run(
          python(
            'import array, os, socket',
            'os.write(1, b"mine")',
            's = socket.socket(socket.AF_UNIX); s.connect("/folder/s")',
            's.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [1]))])',
            's.recv(1)',
          ),
          { sandbox: { folder } },
        );
        expect(outcome).toMatchObject(clean);
        expect(stdout.subarray(0, 4).toString()).toBe('mine');
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('kill', () => {
  async function runAndKill(
    argv: readonly string[],
    kill: (session: InitSession) => Promise<void>,
    pids = 64,
  ): Promise<{ outcome: unknown; output: string }> {
    return withSandbox({ pids }, async (sandbox) => {
      const session = new InitSession(sandbox);
      let output = '';
      const up = new Promise<void>((resolve) => {
        const stdout = (data: Buffer) => {
          output += data.toString();
          if (output.startsWith('up')) resolve();
          return undefined;
        };
        void session
          .run({ argv, cwd: '/', env: { PATH: path } }, { stdout, stderr: () => undefined })
          .then((result) => (outcome = result));
      });
      let outcome: unknown;
      await up;
      await kill(session);
      while (outcome === undefined) await sleep(5);
      return { outcome, output };
    });
  }

  test('a signal with a grace lets the command end in its own way', async () => {
    const script = 'trap "echo bye; exit 5" TERM; echo up; while :; do sleep 0.05; done';
    const { outcome, output } = await runAndKill(['bash', '-c', script], (session) =>
      session.kill(15, 600_000),
    );
    expect(outcome).toMatchObject({ exit: { end: { kind: 'exited', code: 5 }, alone: true } });
    expect(output).toBe('up\nbye\n');
  });

  test('38: what ignores it, or stops itself, is dead after the grace', async () => {
    for (const script of [
      'trap "" TERM; echo up; while :; do :; done',
      '(until grep -q "^State:.T" /proc/$$/status; do :; done; echo up) & kill -STOP $$; sleep 600',
    ]) {
      const { outcome } = await runAndKill(['bash', '-c', script], (session) => session.kill(15, 100));
      expect(outcome).toMatchObject({ exit: { end: { kind: 'signaled', signal: 9 }, alone: true } });
    }
  });

  test('reaches every process, in whatever session', async () => {
    const script =
      'setsid bash -c "trap \\"echo heard; exit\\" USR1; echo up; while :; do sleep 0.05; done" & wait';
    const { output } = await runAndKill(['bash', '-c', `trap "wait" USR1; ${script}; wait`], (session) =>
      session.kill(10, 600_000),
    );
    expect(output).toContain('heard');
  });

  test('30: a fork bomb at full strength', async () => {
    const bomb = python(
      'import os',
      'os.write(1, b"up")',
      'while True:',
      '    try: os.fork()',
      '    except OSError: pass',
    );
    const { outcome } = await runAndKill(bomb, (session) => session.kill(9), 256);
    expect(outcome).toMatchObject({ exit: { end: { kind: 'signaled', signal: 9 }, alone: true } });
  });
});

describe('31: out of memory', () => {
  test('the command: killed, counted, told', async () => {
    const { outcome } = await run(['python3', '-c', 'x = bytearray(1 << 30)'], { sandbox: { memoryMb: 48 } });
    expect(outcome).toMatchObject({ exit: { end: { kind: 'signaled', signal: 9 }, alone: true } });
    expect(outcome.kind === 'ended' && outcome.exit.oomKills).toBeGreaterThan(0);
  });

  test('only a child of it: the command lives on, the count tells', async () => {
    const script = 'python3 -c "x = bytearray(1 << 30)"; echo "child $?"';
    const { outcome, stdout } = await run(['bash', '-c', script], { sandbox: { memoryMb: 48 } });
    expect(outcome).toMatchObject(clean);
    expect(outcome.kind === 'ended' && outcome.exit.oomKills).toBeGreaterThan(0);
    expect(stdout.toString()).toBe('child 137\n');
  });

  test('by files in /tmp, which belong to no process: init still reports', async () => {
    for (const script of [
      'head -c 250M /dev/zero > /tmp/x',
      'while :; do head -c 1M /dev/zero >> /tmp/x; done',
    ]) {
      const { outcome } = await run(['bash', '-c', script], { sandbox: { memoryMb: 48 } });
      expect(outcome).toMatchObject({ kind: 'ended', exit: { alone: true } });
      expect(outcome.kind === 'ended' && outcome.exit.oomKills).toBeGreaterThan(0);
    }
  });

  test('in a crowd that has lowered its own scores as far as it may', async () => {
    const { outcome } = await run(
      python(
        'import os, time',
        'for n in range(20):',
        '    if os.fork() == 0:',
        '        open("/proc/self/oom_score_adj", "w").write("0")',
        '        x = bytearray(8 << 20); time.sleep(600)',
        'time.sleep(1)',
        'print("end", flush=True)',
      ),
      { sandbox: { memoryMb: 64 } },
    );
    expect(outcome).toMatchObject({ kind: 'ended', exit: { alone: true } });
    expect(outcome.kind === 'ended' && outcome.exit.oomKills).toBeGreaterThan(0);
  });
});

describe('the host', () => {
  test('vanishes or half-closes while something runs: everything dies, init says so in its status', async () => {
    for (const leave of ['vanish', 'close'] as const) {
      await withSandbox({}, async (sandbox) => {
        const session = new InitSession(sandbox);
        await new Promise((started) => {
          const argv = ['bash', '-c', 'trap "" TERM; setsid sleep 600 & sleep 600'];
          const running = session.run({ argv, cwd: '/', env: { PATH: path } }, { ...quiet, started });
          running.catch(() => undefined);
        });
        await sandbox[leave]();
        expect(await sandbox.end()).toBe(3);
      });
    }
  });

  test('vanishes while nothing was asked: init leaves quietly', async () => {
    for (const part of ['', 'Sb', 'Sb\x81\0\0\0\0\xff/']) {
      await withSandbox({}, async (sandbox) => {
        await new InitSession(sandbox).ready();
        await sandbox.write(Buffer.from(part, 'latin1'));
        await sandbox.vanish();
        expect(await sandbox.end()).toBe(0);
      });
    }
  });

  test('is waited for after the last frame, and then init leaves with 0', async () => {
    await withSandbox({}, async (sandbox) => {
      expect((await runIn(sandbox, ['true'], { held: true })).outcome).toMatchObject(clean);
      await sleep(300);
      expect(await sandbox.isRunning()).toBe(true);
      await sandbox.vanish();
      expect(await sandbox.end()).toBe(0);
    });
  });

  test('puts a process in: one of our user is swept, one that may not be killed is told', async () => {
    await withSandbox({}, async (sandbox) => {
      await sandbox.enter('1000:1000', ['sleep', '600']);
      expect((await runIn(sandbox, ['true'])).outcome).toMatchObject(clean);
    });
    await withSandbox({}, async (sandbox) => {
      await sandbox.enter('0:0', ['sleep', '600']);
      const { outcome } = await runIn(sandbox, ['true']);
      expect(outcome).toMatchObject({ exit: { end: { kind: 'exited', code: 0 }, alone: false } });
      expect(await sandbox.end()).toBe(0);
    });
  });
});
