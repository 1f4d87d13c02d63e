import { describe, expect, jest, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { InitSession } from '../../packages/container-engine/src/init/init-session.js';
import { path, run, withSandbox } from './sandbox.js';

// A container takes its time to start on a busy machine.
jest.setTimeout(120_000);

/** Every attack is made without seccomp: what holds here, init holds by itself. */
const bare = { seccomp: 'none', pids: 128 } as const;

const prelude = [
  'import ctypes, errno, fcntl, json, os, resource, signal, struct, time',
  'libc = ctypes.CDLL(None, use_errno=True)',
  'names = "tkill rt_sigqueueinfo pidfd_send_signal kcmp move_pages migrate_pages sched_setattr clone".split()',
  'numbers = {"x86_64": (200, 129, 424, 312, 279, 256, 314, 56), "aarch64": (130, 138, 424, 272, 239, 238, 274, 220)}',
  'number = dict(zip(names, numbers[os.uname().machine]))',
  'def call(function, *args):',
  '    result = function(*[ctypes.c_long(a) if isinstance(a, int) else a for a in args])',
  '    return result if result >= 0 else errno.errorcode[ctypes.get_errno()]',
  'def syscall(name, *args): return call(libc.syscall, number[name], *args)',
  'def attempt(f):',
  '    try: return f()',
  '    except OSError as e: return errno.errorcode[e.errno]',
  'def works(f): return not isinstance(attempt(f), str)',
  'def tell(**facts): os.write(1, (json.dumps(facts) + "\\n").encode())',
];

/** Leaves something behind and exits with 7, which only a living init can report. */
const epilogue = [
  'if os.fork() == 0:',
  '    os.setsid(); time.sleep(600)',
  'os.write(1, b"end\\n")',
  'os._exit(7)',
];
const reported = { kind: 'ended', exit: { end: { kind: 'exited', code: 7 }, alone: true } };

const python = (...lines: readonly string[]) => ['python3', '-c', [...prelude, ...lines].join('\n')];

/** What the attacker found out, once init has reported its end as if nothing had been tried. */
async function attack(...lines: readonly string[]): Promise<unknown> {
  const { outcome, stdout, stderr } = await run(python(...lines, ...epilogue), { sandbox: bare });
  expect(stderr.toString()).toBe('');
  expect(outcome).toMatchObject(reported);
  const said = stdout.toString().split('\n');
  expect(said.slice(-2)).toEqual(['end', '']);
  return Object.assign({}, ...said.slice(0, -2).map((line) => JSON.parse(line) as object));
}

describe('39: signals to PID 1', () => {
  test('every one of them, by every call that sends one', async () => {
    const facts = await attack(
      'pidfd = os.pidfd_open(1)',
      'refused = {}',
      'def send(how, n, result):',
      '    if result not in (None, 0): refused.setdefault(how, {})[n] = result',
      'for n in range(1, 65):',
      '    info = ctypes.create_string_buffer(struct.pack("iii", n, 0, -1), 128)',
      '    for _ in range(3):',
      '        send("kill", n, attempt(lambda: os.kill(1, n)))',
      '        send("tkill", n, syscall("tkill", 1, n))',
      '        send("tgkill", n, call(libc.tgkill, 1, 1, n))',
      '        send("sigqueue", n, syscall("rt_sigqueueinfo", 1, n, info))',
      '        send("pidfd", n, syscall("pidfd_send_signal", pidfd, n, None, 0))',
      'tell(refused=refused)',
    );
    // The kernel took every one of them, and dropped it.
    expect(facts).toEqual({ refused: {} });
  });

  test('a flood of real-time signals and forged SIGCHLDs while output flows', async () => {
    const { outcome, stdout } = await run(
      python(
        'def flood():',
        '    info = ctypes.create_string_buffer(struct.pack("iii", 64, 0, -1), 128)',
        '    while True:',
        '        os.kill(1, signal.SIGCHLD); syscall("rt_sigqueueinfo", 1, 64, info)',
        '        os.kill(1, 34); os.kill(1, signal.SIGSTOP)',
        'for _ in range(4):',
        '    if os.fork() == 0: flood()',
        'for n in range(20000): os.write(1, b"%08d" % n)',
        'os._exit(7)',
      ),
      { sandbox: bare },
    );
    expect(outcome).toMatchObject(reported);
    const expected = Array.from({ length: 20_000 }, (_, n) => n.toString().padStart(8, '0')).join('');
    expect(stdout.toString() === expected).toBe(true);
  });

  test('kill(-1), and a descriptor whose owner is PID 1 and whose signal is SIGKILL', async () => {
    await attack(
      'r, w = os.pipe()',
      'for sig in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, 64):',
      '    fcntl.fcntl(r, fcntl.F_SETOWN, 1)',
      '    fcntl.fcntl(r, 10, int(sig))', // F_SETSIG
      '    fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)',
      '    for _ in range(50): os.write(w, b"x"); os.read(r, 1)',
      'for n in range(1, 65): attempt(lambda: os.kill(-1, n))',
    );
  });
});

describe('39: the memory and the descriptors of PID 1', () => {
  test('cannot be traced, read, written, moved or taken', async () => {
    const facts = await attack(
      'buffer = ctypes.create_string_buffer(64)',
      'here = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 64)',
      'there = (ctypes.c_void_p * 2)(0x400000, 64)',
      'pidfd = os.pidfd_open(1)',
      'tell(attach=call(libc.ptrace, 16, 1, None, None), seize=call(libc.ptrace, 0x4206, 1, None, None))',
      'tell(readv=call(libc.process_vm_readv, 1, here, 1, there, 1, 0))',
      'tell(writev=call(libc.process_vm_writev, 1, here, 1, there, 1, 0))',
      'tell(getfd=[call(libc.pidfd_getfd, pidfd, fd, 0) for fd in (0, 1, 2, 3)])',
      'tell(kcmp=syscall("kcmp", os.getpid(), 1, 0, 1, 1))',
      'tell(move=syscall("move_pages", 1, 0, None, None, None, 0))',
      'tell(migrate=syscall("migrate_pages", 1, 8, None, None))',
      // The same calls work on a process that is not protected: the refusals above are init's doing.
      'child = os.fork()',
      'if child == 0: time.sleep(600)',
      'tell(control=[works(lambda: open(f"/proc/{child}/mem", "rb")), call(libc.ptrace, 0x4206, child, None, None)])',
    );
    const denied = 'EPERM';
    expect(facts).toEqual({
      attach: denied,
      seize: denied,
      readv: denied,
      writev: denied,
      getfd: [denied, denied, denied, denied],
      kcmp: denied,
      move: denied,
      migrate: denied,
      control: [true, 0],
    });
  });

  test('nothing of /proc/1 that tells of its memory, environment or descriptors can be read', async () => {
    const facts = await attack(
      'files = "mem environ maps smaps numa_maps auxv io pagemap stack syscall".split()',
      'folders = "fd fdinfo map_files root cwd".split()',
      'tell(read=[f for f in files if works(lambda: open("/proc/1/" + f, "rb").read(1))])',
      'tell(listed=[f for f in folders if works(lambda: os.listdir(f"/proc/1/{f}/"))])',
      'tell(links=[f for f in ("exe", "root", "cwd") if works(lambda: os.readlink("/proc/1/" + f))])',
      'modes = (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_PATH)',
      'tell(opened=[fd for fd in range(20) for m in modes if works(lambda: os.open(f"/proc/1/fd/{fd}", m))])',
      'tell(control=[f for f in ("environ", "maps") if works(lambda: open("/proc/self/" + f, "rb").read(1))])',
    );
    expect(facts).toEqual({ read: [], listed: [], links: [], opened: [], control: ['environ', 'maps'] });
  });

  test('nothing of /proc/1 can be written, its OOM score among it', async () => {
    const facts = await attack(
      'seen, written = 0, []',
      'for folder, _, files in os.walk("/proc/1"):',
      '    for path in (os.path.join(folder, f) for f in files):',
      '        seen += 1',
      '        fd = attempt(lambda: os.open(path, os.O_WRONLY | os.O_NONBLOCK))',
      '        if isinstance(fd, int):',
      '            if works(lambda: os.write(fd, b"0")): written.append(path)',
      '            os.close(fd)',
      'tell(written=written, many=seen > 50, score=attempt(lambda: open("/proc/1/oom_score_adj", "w")))',
    );
    expect(facts).toEqual({ written: [], many: true, score: 'EACCES' });
  });
});

describe('39: limits and scheduling of PID 1', () => {
  test('neither can be changed by the command, by any of the calls that ask for no more than its uid', async () => {
    const facts = await attack(
      'param = ctypes.create_string_buffer(64)',
      'attributes = ctypes.create_string_buffer(struct.pack("IIQiI", 48, 5, 0, 0, 0), 64)',
      'tell(limits=[n for n in range(16) if works(lambda: resource.prlimit(1, n, (0, 0)))])',
      'tell(reads=works(lambda: resource.prlimit(1, resource.RLIMIT_CPU)))',
      'tell(scheduler=attempt(lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))))',
      'tell(param=attempt(lambda: os.sched_setparam(1, os.sched_param(0))))',
      'tell(attributes=syscall("sched_setattr", 1, attributes, 0))',
      'tell(affinity=attempt(lambda: os.sched_setaffinity(1, [0])))',
      'tell(nice=attempt(lambda: os.setpriority(os.PRIO_PROCESS, 1, 19)))',
      'tell(group=attempt(lambda: os.setpriority(os.PRIO_PGRP, 1, 19)))',
      'tell(user=[attempt(lambda: os.setpriority(os.PRIO_USER, u, 19)) for u in (0, 1000)])',
      'tell(policy=os.sched_getscheduler(1), niceness=os.getpriority(os.PRIO_PROCESS, 1))',
    );
    const denied = 'EPERM';
    expect(facts).toEqual({
      limits: [],
      reads: false,
      scheduler: denied,
      param: denied,
      attributes: denied,
      affinity: denied,
      nice: denied,
      group: denied,
      user: [denied, denied],
      policy: 0,
      niceness: 0,
    });
  });

  test('of itself and of its children the command may change both', async () => {
    const facts = await attack(
      'child = os.fork()',
      'if child == 0: time.sleep(600)',
      'for pid in (0, os.getpid(), child):',
      '    os.sched_setaffinity(pid, os.sched_getaffinity(pid))',
      '    os.setpriority(os.PRIO_PROCESS, pid, 5)',
      '    os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0))',
      '    resource.prlimit(pid, resource.RLIMIT_NOFILE, (64, 64))',
      'tell(nice=os.getpriority(os.PRIO_PROCESS, 0), limit=resource.getrlimit(resource.RLIMIT_NOFILE))',
    );
    expect(facts).toEqual({ nice: 5, limit: [64, 64] });
  });

  test('nor by the calls of 32-bit programs', async () => {
    const facts = await attack(
      // Without a 32-bit ABI in the kernel the call ends the child that makes it: no way in either.
      'import mmap',
      'denied = []',
      'if os.uname().machine == "x86_64":',
      '    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)',
      '    code.write(bytes.fromhex("53 89f8 89f3 87d1 cd80 5b 4898 c3"))', // int 0x80
      '    at = ctypes.addressof(ctypes.c_char.from_buffer(code))',
      '    old = ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_long] * 4)(at)',
      '    for number, a, b in ((97, 0, 1), (154, 1, 0), (156, 1, 5), (241, 1, 4), (340, 1, 0), (351, 1, 0)):',
      '        pid = os.fork()',
      '        if pid == 0: os._exit(-old(number, a, b, 19) & 127)',
      '        denied.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))',
      'tell(passed=[d for d in denied if d != errno.EPERM and d >= 0])',
    );
    expect(facts).toEqual({ passed: [] });
  });

  test('a crowd of busy processes does not keep init from ending it', async () => {
    await attack(
      'for _ in range(100):',
      '    if os.fork() == 0:',
      '        while True: pass',
      'attempt(lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)))',
      'time.sleep(1)',
    );
  });

  test('set from outside, where the filter does not reach: every limit at zero but one, and init works on', async () => {
    await withSandbox(bare, async (sandbox) => {
      const session = new InitSession(sandbox);
      await session.ready();
      let output = '';
      const argv = [
        'bash',
        '-c',
        'until [ -e /tmp/go ]; do sleep 0.05; done; setsid sleep 600 & head -c 300000 /dev/zero; exit 7',
      ];
      const running = session.run(
        { argv, cwd: '/', env: { PATH: path } },
        {
          stdout: (data) => void (output += data.length === 0 ? '' : data.toString('latin1')),
          stderr: () => undefined,
        },
      );
      const lower = python(
        'for n in range(16):',
        '    if n != resource.RLIMIT_CPU: resource.prlimit(1, n, (0, 0))',
        'os.setpriority(os.PRIO_PROCESS, 1, 19)',
        'os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))',
        'open("/tmp/go", "w")',
      );
      await sandbox.enter('1000:1000', lower);
      expect(await running).toMatchObject(reported);
      expect(output).toHaveLength(300_000);
    });
  });

  test('processor time, set from outside: nothing outlives init, and nobody is told a lie', async () => {
    await withSandbox(bare, async (sandbox) => {
      const session = new InitSession(sandbox);
      const quiet = { stdout: () => undefined, stderr: () => undefined };
      const running = session.run({ argv: ['yes'], cwd: '/', env: { PATH: path } }, quiet);
      await Promise.all([
        expect(running).rejects.toMatchObject({ code: 'gone' }),
        sandbox.enter('1000:1000', python('resource.prlimit(1, resource.RLIMIT_CPU, (0, 0))')),
      ]);
      expect(await sandbox.end()).toBe(137);
    });
  });
});

describe('39: relations with PID 1', () => {
  test('a sibling that looks like the command is not taken for it', async () => {
    const facts = await attack(
      'pid = syscall("clone", 0x8000 | int(signal.SIGCHLD), None, None, None, None)', // CLONE_PARENT
      'if pid == 0: tell(parent=os.getppid()); os._exit(42)',
      'while attempt(lambda: os.kill(pid, 0)) is None: time.sleep(0.01)',
    );
    expect(facts).toEqual({ parent: 1 });
  });

  test('a reaper of its own keeps no orphan', async () => {
    await attack(
      'libc.prctl(36, 1, 0, 0, 0)', // PR_SET_CHILD_SUBREAPER
      'for _ in range(5):',
      '    if os.fork() == 0:',
      '        if os.fork() == 0: time.sleep(600)',
      '        os._exit(0)',
    );
  });

  test('a PID namespace inside, where no seccomp closes it, dies with the rest', async () => {
    const facts = await attack(
      'inner = os.fork()',
      'if inner == 0: os.execvp("unshare", ["unshare", "-Urpf", "sleep", "600"])',
      'def comm(p): return attempt(lambda: open(f"/proc/{p}/comm").read().strip())',
      'def inside(): return sum(comm(p) == "sleep" for p in os.listdir("/proc") if p.isdigit())',
      'while inside() == 0 and os.waitpid(inner, os.WNOHANG) == (0, 0): time.sleep(0.01)',
      'tell(inside=inside())',
    );
    expect(facts).toEqual({ inside: 1 });
  });

  test('a command that its own child traces ends at the kill at the latest', async () => {
    await withSandbox(bare, async (sandbox) => {
      const argv = python(
        'libc.prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0)', // PR_SET_PTRACER_ANY
        'main = os.getpid()',
        'r, w = os.pipe()',
        'if os.fork() == 0:',
        '    seized = call(libc.ptrace, 0x4206, main, None, None)',
        '    os.write(w, str(seized).encode()); time.sleep(600)',
        'os.write(1, os.read(r, 10))',
        'os._exit(7)',
      );
      const session = new InitSession(sandbox);
      let seized = '';
      const stdout = (data: Buffer) => void (seized += data.toString());
      const running = session.run(
        { argv, cwd: '/', env: { PATH: path } },
        { stdout, stderr: () => undefined },
      );
      while (seized === '') await sleep(5);
      expect(seized).toBe('0');
      await session.kill(9);
      expect(await running).toMatchObject({ kind: 'ended', exit: { alone: true } });
    });
  });
});
