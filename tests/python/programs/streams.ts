import { code, file, type Program } from '../program.js';

const threeStreams = [
  'import sys',
  'for s in (sys.stdin, sys.stdout, sys.stderr):',
  '    print(s.name, s.mode, s.encoding, s.errors, s.line_buffering, s.write_through, s.newlines, s.isatty(), s.seekable())',
  '    print(type(s.buffer).__name__, s.buffer.raw, s.buffer.raw.closefd, s.buffer.raw.seekable(), s.buffer.raw._blksize)',
  'print(sys.stdin is sys.__stdin__, sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__)',
];

/** What goes in and what comes out, to the byte. */
export const streams: readonly Program[] = [
  code('the three streams', threeStreams, { says: /<stdin> r utf-8 surrogateescape False/ }),
  code('the three streams, with a stdin', threeStreams, {
    stdin: 'text\n',
    says: /<stdin> r utf-8 surrogateescape False/,
  }),
  code('input()', ['print(input("name? "))', 'print(input())'], {
    stdin: 'Ann\nBo',
    says: /^name\? Ann\nBo\n$/,
  }),
  code('input() at the end', 'input()', {
    stdin: '',
    ends: 1,
    complains: /EOFError: EOF when reading a line/,
  }),
  code('input() without a stdin', 'input()', { ends: 1, complains: /EOFError/ }),
  code('stdin line by line', 'import sys; print([line for line in sys.stdin])', {
    stdin: 'a\r\nb\rc\n',
    says: /'a\\r\\n'/,
  }),
  code('stdin as bytes', 'import sys; b = sys.stdin.buffer.read(); print(len(b), sum(b))', {
    stdin: Buffer.alloc(300_000, 'abc\0ÿ'),
    says: /^300000 /,
  }),
  code('stdin that is no UTF-8', 'import sys; print(ascii(sys.stdin.read()))', {
    stdin: Buffer.from([0x61, 0xff]),
    says: /'a\\udcff'/,
  }),
  code('stdin by its descriptor', 'import os; print(os.read(0, 9), os.read(0, 9), os.fstat(0).st_mode)', {
    stdin: '1234',
    says: /b'1234' b''/,
  }),
  code('/dev/null by its descriptor', 'import os; print(os.read(0, 9), oct(os.fstat(0).st_mode))', {
    says: /b'' 0o20666/,
  }),
  code('stdin handed to a child', 'import os; os.system("cat; echo over")', {
    stdin: 'for cat',
    says: /^for catover/,
  }),
  code('stdin that is left unread', 'print("done")', { stdin: 'x'.repeat(200_000), says: /done/ }),
  code(
    'stdout is kept back, stderr is not',
    [
      'import os, sys',
      'print("kept"); sys.stderr.write("told\\n"); os.write(1, b"first\\n"); os.write(2, b"by bytes\\n")',
    ],
    { says: /^first\nkept\n$/, complains: /^told\nby bytes/ },
  ),
  code('a lost stdout', 'import os; print("kept"); os._exit(0)', { says: /^$/ }),
  code('every character', 'print("é😀\\u0000\\x7f\\u2028")', { says: /é😀/ }),
  code('a character that cannot be written', 'print("\\ud800")', {
    ends: 1,
    complains: /surrogates not allowed/,
  }),
  code('a character that stderr can write', 'import sys; print("\\udc80", file=sys.stderr)', {
    complains: /\\udc80/,
  }),
  code('a megabyte', 'import sys; sys.stdout.write("0123456789abcde\\n" * 65536)', { says: /^0123/ }),
  code(
    'streams that are set up again',
    [
      'import sys, io',
      'sys.stdout.reconfigure(encoding="latin-1", line_buffering=True)',
      'print("é"); sys.stdout = io.StringIO(); print("lost"); sys.__stdout__.write(repr(sys.stdout.getvalue()))',
    ],
    { says: /'lost\\n'/ },
  ),
  file(
    'fileinput and sys.stdin',
    'import fileinput\nfor line in fileinput.input(): print(fileinput.lineno(), line, end="")',
    {
      stdin: 'a\nb\n',
      says: /^1 a\n2 b\n$/,
    },
  ),
  code(
    'a prompt that is no terminal',
    'import sys; print(sys.flags.interactive, hasattr(sys, "ps1"), sys.stdin.isatty())',
  ),
  code(
    'descriptors closed one by one',
    [
      'import os',
      'for fd in (0, 3, 4, 5, 6, 7):',
      '    try: os.close(fd); print("closed", fd)',
      '    except OSError as e: print(fd, e.errno)',
      'print(os.open("/dev/null", 0), os.pipe())',
    ],
    { says: /closed 0/ },
  ),
];
