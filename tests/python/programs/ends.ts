import { code, file, type Program } from '../program.js';

const SIGINT = 2;
const SIGKILL = 9;
const SIGSEGV = 11;
const SIGTERM = 15;

/** Takes the signal at one place of the program, whenever it comes: else that would differ from run to run. */
const takesIt = (signal: string) => [
  `signal.pthread_sigmask(signal.SIG_BLOCK, [signal.${signal}])`,
  'print("up", flush=True)',
  'while not signal.sigpending(): time.sleep(0.01)',
  `signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.${signal}])`,
  'time.sleep(30)',
];

/** How a program ends, and what it says of that. */
export const ends: readonly Program[] = [
  code('nothing at all', ''),
  code('print', 'print(1)', { says: /^1\n$/ }),
  code('exit codes', 'import sys; sys.exit(7)', { ends: 7 }),
  code('an exit code past 255', 'import sys; sys.exit(256 + 3)', { ends: 3 }),
  code('a negative exit code', 'import sys; sys.exit(-1)', { ends: 255 }),
  code('a huge exit code', 'import sys; sys.exit(2**80)', { ends: 255 }),
  code('SystemExit without a value', 'raise SystemExit'),
  code('SystemExit(None)', 'raise SystemExit(None)'),
  code('SystemExit of a text', 'raise SystemExit("over é")', { ends: 1, complains: /^over é\n$/ }),
  code('SystemExit of an object', 'raise SystemExit([1, {}])', { ends: 1, complains: /^\[1, \{\}\]/ }),
  code('SystemExit of a pair', 'raise SystemExit(1, 2)', { ends: 1, complains: /^\(1, 2\)/ }),
  code('SystemExit of a truth', 'raise SystemExit(True)', { ends: 1 }),
  code(
    'SystemExit of what cannot be told',
    ['class C:', '    def __str__(self): raise ValueError("no")', 'raise SystemExit(C())'],
    { ends: 1 },
  ),
  code('os._exit', 'import os; print("lost"); os._exit(5)', { ends: 5 }),
  code('os.abort', 'import os; os.abort()', { ends: { signal: 6 } }),
  code('-c: a traceback', ['def f():', '    1 / 0', 'f()'], {
    ends: 1,
    complains: /File "<string>", line 3, in <module>/,
  }),
  file('file: a traceback', ['def f():', '    return [1 / 0 for _ in "é"]', '', 'f()'], {
    ends: 1,
    complains: /ZeroDivisionError/,
  }),
  code(
    'a chain of exceptions',
    [
      'try:',
      '    try: {}["k"]',
      '    except KeyError as e: raise ValueError("two") from e',
      'except ValueError: raise TypeError("three")',
    ],
    { ends: 1, complains: /During handling/ },
  ),
  code('a group of exceptions', 'raise ExceptionGroup("g", [ValueError(1), OSError(2, "x")])', {
    ends: 1,
    complains: /ExceptionGroup: g/,
  }),
  code('-c: a syntax error', 'x = = 1', { ends: 1, complains: /SyntaxError/ }),
  code('-c: a syntax error on a later line', ['a = 1', 'def f(:', '    pass'], {
    ends: 1,
    complains: /line 2/,
  }),
  file('file: a syntax error', ['a = 1', 'print("x"', 'b'], { ends: 1, complains: /main.py", line 2/ }),
  file('file: wrong indentation', ['def f():', 'pass'], { ends: 1, complains: /IndentationError/ }),
  file('file: tabs and spaces', ['if 1:', '\tx = 1', '        y = 2'], { ends: 1, complains: /TabError/ }),
  code('recursion without end', ['def f(n): return f(n + 1)', 'f(0)'], {
    ends: 1,
    complains: /repeated \d+ more times/,
  }),
  code('an error in an exit handler', 'import atexit; atexit.register(int, "no"); print("on")', {
    says: /on/,
    complains: /ignored in atexit callback/,
  }),
  code(
    'an excepthook',
    ['import sys', 'sys.excepthook = lambda *a: print("hook", a[0].__name__)', 'raise KeyError(1)'],
    {
      ends: 1,
      says: /^hook KeyError/,
    },
  ),
  code('an excepthook that fails', ['import sys', 'sys.excepthook = lambda *a: 1 / 0', 'raise KeyError(1)'], {
    ends: 1,
    complains: /Error in sys.excepthook/,
  }),
  code(
    'exit handlers in order',
    [
      'import atexit',
      'for n in range(3): atexit.register(print, "handler", n)',
      'class C:',
      '    def __del__(self): print("deleted")',
      'c = C(); print("end")',
    ],
    { says: /^end\nhandler 2\nhandler 1\nhandler 0\ndeleted\n$/ },
  ),
  code('an interrupt from within', 'import os, signal; os.kill(os.getpid(), signal.SIGINT); print("never")', {
    ends: { signal: SIGINT },
    complains: /KeyboardInterrupt/,
  }),
  code('KeyboardInterrupt as an exception', 'raise KeyboardInterrupt', { ends: { signal: SIGINT } }),
  code(
    'KeyboardInterrupt that is caught',
    [
      'import os, signal',
      'try: os.kill(os.getpid(), signal.SIGINT)',
      'except KeyboardInterrupt: print("caught"); raise SystemExit(9)',
    ],
    { ends: 9, says: /caught/ },
  ),
  code('an interrupt from the host', ['import signal, time', ...takesIt('SIGINT')], {
    signal: SIGINT,
    alone: true,
    ends: { signal: SIGINT },
    complains: /KeyboardInterrupt/,
  }),
  code('SIGTERM from the host', 'import time; print("up", flush=True); time.sleep(30)', {
    signal: SIGTERM,
    alone: true,
    ends: { signal: SIGTERM },
  }),
  code(
    'SIGTERM that is handled',
    [
      'import signal, sys, time',
      'signal.signal(signal.SIGTERM, lambda *a: sys.exit(4))',
      ...takesIt('SIGTERM'),
    ],
    { signal: SIGTERM, alone: true, ends: 4 },
  ),
  code('SIGKILL from the host', 'import time; print("up", flush=True); time.sleep(30)', {
    signal: SIGKILL,
    alone: true,
    ends: { signal: SIGKILL },
  }),
  code('a crash', 'import ctypes; ctypes.string_at(0)', { ends: { signal: SIGSEGV } }),
  code('a crash that is told', 'import faulthandler, ctypes; faulthandler.enable(); ctypes.string_at(0)', {
    ends: { signal: SIGSEGV },
    complains: /Fatal Python error: Segmentation fault/,
  }),
  code('a closed stdout', 'import os; print("x"); os.close(1)', {
    ends: 120,
    complains: /Bad file descriptor/,
  }),
  code(
    'warnings',
    [
      'import warnings',
      'warnings.warn("told")',
      'warnings.warn("told in __main__", DeprecationWarning)',
      'open("/dev/null")',
      'assert (1, "x")',
      '"\\d"',
    ],
    { complains: /UserWarning: told/ },
  ),
];
