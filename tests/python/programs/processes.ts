import { code, file, type Program } from '../program.js';

const pool = (method: string) => [
  'import multiprocessing, os, sys',
  'def square(n): return n * n',
  'print("loaded as", __name__, flush=True)',
  'if __name__ == "__main__":',
  `    context = multiprocessing.get_context("${method}")`,
  '    with context.Pool(1) as pool: print(pool.map(square, range(5)))',
  '    process = context.Process(target=sys.exit, args=(3,)); process.start(); process.join(); print(process.exitcode)',
];

/** Threads, children and other ways of not being alone. */
export const processes: readonly Program[] = [
  code(
    'a thread is waited for',
    [
      'import threading, time',
      'threading.Thread(target=lambda: (threading.main_thread().join(), print("late"))).start()',
      'print("main over")',
    ],
    { says: /^main over\nlate\n$/ },
  ),
  code(
    'a daemon is not',
    [
      'import threading, time',
      'threading.Thread(target=time.sleep, args=(30,), daemon=True).start()',
      'print("main over")',
    ],
    { says: /^main over\n$/ },
  ),
  code(
    'a thread that fails',
    [
      'import threading',
      't = threading.Thread(target=lambda: 1 / 0, name="T"); t.start(); t.join(); print("on")',
    ],
    { says: /on/, complains: /Exception in thread T/ },
  ),
  code(
    'threads, then exit handlers',
    [
      'import threading, atexit, time',
      'atexit.register(print, "handler")',
      'threading.Thread(target=lambda: (time.sleep(0.05), print("thread"))).start()',
    ],
    { says: /^thread\nhandler\n$/ },
  ),
  code(
    'the main thread',
    [
      'import threading',
      'print(threading.main_thread() is threading.current_thread(), threading.stack_size(), threading.get_native_id() == __import__("os").getpid())',
    ],
    { says: /^True 0 True/ },
  ),
  code(
    'a pool of threads',
    [
      'from concurrent.futures import ThreadPoolExecutor',
      'with ThreadPoolExecutor(3) as p: print(list(p.map(abs, [-1, 2, -3])))',
    ],
    { says: /\[1, 2, 3\]/ },
  ),
  code(
    'asyncio',
    [
      'import asyncio',
      'async def main():',
      '    p = await asyncio.create_subprocess_exec("echo", "hi", stdout=-1)',
      '    print(await p.communicate(), await asyncio.gather(asyncio.sleep(0, 1), asyncio.sleep(0, 2)))',
      'asyncio.run(main())',
    ],
    { says: /hi.*\[1, 2\]/ },
  ),
  code(
    'os.fork',
    [
      'import os',
      'pid = os.fork()',
      'if pid == 0: print("child", flush=True); os._exit(3)',
      'print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))',
    ],
    { says: /^child\n3\n$/ },
  ),
  code(
    'os.fork and twice what was kept back',
    ['import os', 'print("kept")', 'pid = os.fork()', 'if pid: os.waitpid(pid, 0)'],
    { says: /^kept\nkept\n$/ },
  ),
  code(
    'subprocess',
    [
      'import subprocess, sys',
      'r = subprocess.run([sys.executable, "-c", "import sys; print(sys.argv, sys.stdin.read()); sys.exit(6)", "a"], input="in", text=True, capture_output=True)',
      'print(r)',
    ],
    { says: /returncode=6/ },
  ),
  code(
    'a child that inherits the streams',
    ['import subprocess', 'subprocess.run("echo out; echo err >&2; exit 3", shell=True, check=True)'],
    { ends: 1, says: /^out/, complains: /returned non-zero exit status 3/ },
  ),
  code(
    'a child sees no more descriptors',
    ['import subprocess', 'subprocess.run(["ls", "/proc/self/fd"], close_fds=False)'],
    { says: /^0\n1\n2\n3\n$/ },
  ),
  code('a child has the environment', ['import subprocess', 'subprocess.run(["env", "-0"])'], {
    env: { A: 'é\n' },
    says: /A=é/,
  }),
  code(
    'what runs in the sandbox',
    [
      'import os',
      'for p in sorted(filter(str.isdigit, os.listdir("/proc")), key=int):',
      '    print(p == "1", open(f"/proc/{p}/cmdline", "rb").read() if p != "1" else "init", open(f"/proc/{p}/comm").read())',
    ],
    { alone: true, says: /^True init secbox-init/ },
  ),
  file('multiprocessing by fork', pool('fork'), { says: /\[0, 1, 4, 9, 16\]\n3/ }),
  file('multiprocessing by spawn', pool('spawn'), { says: /loaded as __mp_main__/ }),
  file('multiprocessing by a fork server', pool('forkserver'), {
    says: /\[0, 1, 4, 9, 16\]\n(loaded.*\n)?3\n$/,
  }),
  code(
    'multiprocessing of code without a file',
    [
      'import multiprocessing',
      'p = multiprocessing.get_context("spawn").Process(target=print, args=("in child",)); p.start(); p.join(); print(p.exitcode)',
    ],
    { says: /in child\n0/ },
  ),
  code(
    'os.execv',
    [
      'import os, sys',
      'print("before", flush=True)',
      'os.execv(sys.executable, ["python", "-c", "import sys, os; print(sys.orig_argv, sorted(os.environ))"])',
    ],
    { says: /^before\n\['python', '-c'/ },
  ),
  code(
    'os.execve of a shell',
    [
      'import os',
      'os.execve("/bin/sh", ["sh", "-c", "echo $A $0; ls /proc/self/fd; exit 4"], {"A": "only"})',
    ],
    { ends: 4, says: /^only sh/ },
  ),
  code(
    'memory',
    [
      'import resource',
      'b = bytearray(50 << 20)',
      'print(len(b), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)',
    ],
    { says: /^52428800 0/ },
  ),
  code(
    'a limit on files that holds',
    [
      'import resource, signal',
      'try: open("/tmp/x", "wb").write(bytes(1 << 21))',
      'except OSError as e: print(e.errno, signal.getsignal(signal.SIGXFSZ))',
    ],
    { rlimits: { fsize: 1 << 20 }, says: /^27 / },
  ),
  code(
    'a limit on open files that holds',
    [
      'import os',
      'fds = []',
      'try:',
      '    while True: fds.append(os.open("/dev/null", 0))',
      'except OSError as e: print(e.errno, fds[0], len(fds))',
    ],
    { rlimits: { nofile: 80 }, says: /^24 3 77/ },
  ),
  code('a limit on its time that holds', ['import time', 'while True: pass'], {
    rlimits: { cpu: 1 },
    ends: { signal: 9 },
  }),
  code(
    'work and artifacts',
    [
      'import os, tempfile',
      'open("a.txt", "w").write("x"); open("/workspace/artifacts/b", "x")',
      'print(os.listdir("."), oct(os.stat("a.txt").st_mode), tempfile.gettempdir())',
      'open("/workspace/inputs/x", "w")',
    ],
    { umask: 0o077, alone: true, ends: 1, says: /\['a.txt'\] 0o100600/, complains: /Read-only file system/ },
  ),
  code(
    'what it cannot do to the init',
    [
      'import os, signal',
      'os.kill(1, 9); print(open("/proc/1/comm").read())',
      'try: os.listdir("/proc/1/fd")',
      'except PermissionError as e: print(e)',
      'try: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))',
      'except PermissionError as e: print(e)',
    ],
    { alone: true, says: /secbox-init\n\n.*denied.*\n.*not permitted/ },
  ),
  code(
    'what was left behind is ended',
    [
      'import subprocess',
      'subprocess.Popen("sleep 60 & sleep 60", shell=True, start_new_session=True); print("left")',
    ],
    { alone: true, says: /left/ },
  ),
  code(
    'pip is there',
    [
      'import importlib.util, sysconfig',
      'print(importlib.util.find_spec("pip").origin, sysconfig.get_paths())',
    ],
    { says: /pip/ },
  ),
];
