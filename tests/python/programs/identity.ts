import { code, file, type Program } from '../program.js';

const inspect = [
  'import sys',
  'def told(value):',
  '    return value if isinstance(value, (str, int, type(None), tuple, list)) else type(value).__name__',
  'for name, value in list(globals().items()):',
  '    if name not in ("told", "sys"): print(name, told(value))',
];

const modules = 'print(sorted(__import__("sys").modules))';
const settings = [
  'import sys, gc, warnings, faulthandler, threading, signal, locale',
  'print(sys.flags, sys.getrecursionlimit(), sys.getswitchinterval(), sys.dont_write_bytecode)',
  'print(gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.get_freeze_count(), gc.callbacks)',
  'print(warnings.filters, sys.warnoptions, sys._xoptions, faulthandler.is_enabled())',
  'print(threading.active_count(), threading.current_thread().name, sys.gettrace(), sys.getprofile())',
  'print([(s, signal.getsignal(s)) for s in signal.valid_signals() if signal.getsignal(s) is not None])',
  'print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.getitimer(signal.ITIMER_REAL))',
  'print(locale.setlocale(locale.LC_ALL), locale.getpreferredencoding(), sys.getfilesystemencoding())',
];

/** Who the program is: what it was called with, and what it finds loaded, set and open. */
export const identity: readonly Program[] = [
  code('-c: its arguments', 'import sys; print(sys.argv, sys.orig_argv)', {
    args: ['', 'a b', '-u', '--', 'é😀', 'x'.repeat(3000)],
    says: /^\['-c', '', 'a b', '-u'/,
  }),
  file('file: its arguments', 'import sys; print(sys.argv, sys.orig_argv)', {
    args: ['-c', '1'],
    says: /^\['\/workspace\/inputs\/program-\d+\/main.py', '-c', '1'\]/,
  }),
  code(
    'bytes that are no UTF-8 in an argument',
    'import sys, os; print(ascii(sys.argv), os.fsencode(sys.argv[1]))',
    {
      args: ['@@@@'],
      raw: ['@@@@', Buffer.from([0xff, 0x80, 0xc3, 0x28])],
      says: /\\udcff\\udc80\\udcc3\(.*b'\\xff/,
    },
  ),
  code(
    'bytes that are no UTF-8 in a variable',
    'import os; print(ascii(os.environ["A"]), os.environb[b"A"])',
    {
      env: { A: '@@@@' },
      raw: ['@@@@', Buffer.from([0xff, 0x80, 0xc3, 0x28])],
      says: /\\udcff/,
    },
  ),
  code('bytes that are no UTF-8 in the code', 'print(ascii("@@@@"))', {
    raw: ['@@@@', Buffer.from([0xff, 0x80, 0xc3, 0x28])],
    ends: 1,
  }),
  code('-c: __main__ and all that it holds', inspect, { says: /__name__ __main__/ }),
  file('file: __main__ and all that it holds', inspect, { says: /__cached__/ }),
  code(
    '-c: sys.path',
    'import sys; print(sys.path, sys.path_hooks.__len__(), sorted(sys.path_importer_cache))',
    {
      says: /^\['', /,
    },
  ),
  file('file: sys.path', 'import sys; print(sys.path, sorted(sys.path_importer_cache))', {
    says: /^\['\/workspace\/inputs\/program-/,
  }),
  code('-c: the modules that are loaded', modules, { says: /'site'/ }),
  file('file: the modules that are loaded', modules, { says: /'site'/ }),
  code('every module is the one that is found by its name', [
    'import sys',
    'print([(n, getattr(m, "__file__", None), m.__spec__ and m.__spec__.name) for n, m in sorted(sys.modules.items())])',
  ]),
  code('every name in sys', 'import sys; print(list(sys.__dict__))', { says: /orig_argv/ }),
  code('every plain value in sys', [
    'import sys',
    'for name, value in sys.__dict__.items():',
    '    if isinstance(value, (str, int, float, tuple)): print(name, value)',
  ]),
  code('every name in builtins', 'import builtins; print(list(builtins.__dict__))'),
  code('flags, limits, collector, warnings, signals, locale', settings, { says: /utf-8/ }),
  code('site', 'import site; print(site.PREFIXES, site.ENABLE_USER_SITE, site.USER_SITE, site.USER_BASE)', {
    says: /\/home\/sandbox\/\.local/,
  }),
  code('sys.executable and its kin', [
    'import sys, os',
    'print(sys.executable, sys._base_executable, sys.prefix, sys.exec_prefix, sys.base_prefix, sys.platlibdir)',
    'print(os.readlink("/proc/self/exe"), open("/proc/self/comm").read())',
  ]),
  code(
    'the same under the name python3',
    [
      'import sys, os, subprocess',
      'print(sys.executable, sys._base_executable, sys.orig_argv)',
      'print(os.readlink("/proc/self/exe"), open("/proc/self/comm").read())',
    ],
    { command: 'python3', says: /bin\/python3 .*bin\/python3 / },
  ),
  code(
    'what others see of it in /proc',
    ['print(open("/proc/self/cmdline", "rb").read())', 'print(open("/proc/self/environ", "rb").read())'],
    { args: ['one', 'two'], env: { LATE: 'yes' }, says: /LATE=yes/ },
  ),
  code(
    'the environment, in its order',
    [
      'import os, posix',
      'print(list(os.environ.items()))',
      'print(posix.environ is os.environ._data, os.getenv("B"), os.environ.get("LD_PRELOAD"))',
      'os.environ["C"] = "set"; del os.environ["A"]; os.putenv("D", "put")',
      'os.system("echo $A,$B,$C,$D")',
    ],
    { env: { A: '1', B: 'x=y\nz', EMPTY: '' }, says: /,x=y\s+z,set,put/ },
  ),
  code(
    'the environment as C sees it',
    [
      'import ctypes, os',
      'c = ctypes.CDLL(None); c.getenv.restype = ctypes.c_char_p',
      'print(c.getenv(b"A"), c.getenv(b"LD_PRELOAD"), c.getenv(b"HOME"))',
    ],
    { env: { A: 'there' }, says: /b'there' None/ },
  ),
  code(
    'open descriptors',
    [
      'import os',
      'for fd in sorted(os.listdir("/proc/self/fd"), key=int):',
      '    try: print(fd, os.readlink(f"/proc/self/fd/{fd}").split(":")[0], open(f"/proc/self/fdinfo/{fd}").readlines()[1])',
      '    except OSError as e: print(fd, e.errno)',
    ],
    { alone: true, says: /^0 \/dev\/null/ },
  ),
  code(
    'open descriptors with a stdin',
    [
      'import os',
      'for fd in sorted(os.listdir("/proc/self/fd"), key=int):',
      '    try: print(fd, os.readlink(f"/proc/self/fd/{fd}").split(":")[0], open(f"/proc/self/fdinfo/{fd}").readlines()[1])',
      '    except OSError as e: print(fd, e.errno)',
    ],
    { stdin: 'x', alone: true, says: /^0 pipe/ },
  ),
  code(
    'place, umask, session, limits, scores',
    [
      'import os, resource',
      'print(os.getcwd(), oct(os.umask(0)), os.getsid(0) == os.getpid() == os.getpgrp(), os.getppid())',
      'print([(n, resource.getrlimit(getattr(resource, n))) for n in sorted(dir(resource)) if n.startswith("RLIMIT")])',
      'print(open("/proc/self/oom_score_adj").read(), os.nice(0), os.sched_getaffinity(0) != set())',
      'wanted = ("State", "Groups", "Cap", "NoNew", "Seccomp", "Sig", "Shd", "Threads", "Uid", "Gid", "Dump")',
      'print([line for line in open("/proc/self/status") if line.startswith(wanted)])',
    ],
    {
      cwd: '/workspace/artifacts',
      umask: 0o027,
      rlimits: { nofile: 100, cpu: 30, fsize: 1 << 20 },
      alone: true,
      says: /0o27 True 1\n/,
    },
  ),
  code(
    'what the collector has seen',
    'import gc; print(gc.get_count(), len(gc.get_objects()), gc.get_stats())',
  ),
  code('a local time', 'import time; print(time.tzname, time.strftime("%Z"), time.localtime(0))'),
  {
    name: '-m: a module of the library',
    args: ['-m', 'json.tool'],
    stdin: '{"a": [1]}',
    says: /"a": \[/,
  },
  {
    name: '-m: a module beside it',
    args: ['-m', 'mine', 'x'],
    cwd: '$',
    files: {
      'mine.py':
        'import sys; print(__name__, __spec__.name, __package__, sys.argv, sys.path[0], sys.orig_argv)',
    },
    says: /^__main__ mine {2}\['\/workspace/,
  },
  {
    name: '-m: a module that is not there',
    args: ['-m', 'nothing_here'],
    ends: 1,
    complains: /No module named nothing_here/,
  },
];
