import { code, file, type Program } from '../program.js';

const shadow = 'print("shadowed", __file__)';

/** `__main__.py`, which imports `other.py` and prints where it is, and that. */
const archive = Buffer.from(
  'UEsDBBQAAAAAAAAAIQCVk8x0OQAAADkAAAALAAAAX19tYWluX18ucHlpbXBvcnQgc3lzLCBvdGhlcjsgcHJpbnQoX1' +
    '9maWxlX18sIHN5cy5hcmd2LCBzeXMucGF0aFswXSlQSwMEFAAAAAAAAAAhANHGwS4PAAAADwAAAAgAAABvdGhlci5w' +
    'eXByaW50KF9fZmlsZV9fKVBLAQIUAxQAAAAAAAAAIQCVk8x0OQAAADkAAAALAAAAAAAAAAAAAACAAQAAAABfX21haW' +
    '5fXy5weVBLAQIUAxQAAAAAAAAAIQDRxsEuDwAAAA8AAAAIAAAAAAAAAAAAAACAAWIAAABvdGhlci5weVBLBQYAAAAA' +
    'AgACAG8AAACXAAAAAAA=',
  'base64',
);

/** Where a program's text comes from, and what it finds beside it. */
export const sources: readonly Program[] = [
  file('an empty file', ''),
  file('a file without a last line end', 'print(__file__, __name__)', { says: /main.py __main__/ }),
  file('a file with a mark of its byte order', Buffer.from('\ufeffprint("é")'), { says: /^é/ }),
  file(
    'a file in Latin-1 that says so',
    Buffer.from('# -*- coding: latin-1 -*-\nprint("\xe9", ascii("\xe9"))\n', 'latin1'),
    { says: /^é '\\xe9'/ },
  ),
  file('a file in Latin-1 that does not', Buffer.from('print("\xe9")\n', 'latin1'), {
    ends: 1,
    complains: /SyntaxError/,
  }),
  file('a file in an unknown encoding', '# coding: nonsense\n', {
    ends: 1,
    complains: /unknown encoding|encoding problem/,
  }),
  file('a file with a null byte', 'print(1)\nx = "\0"\n', { ends: 1 }),
  file('a file with the ends of lines of others', 'a = 1\r\nif a:\r\n    print("""x\r\ny""".encode())\r\n', {
    says: /b'x\\ny'/,
  }),
  file(
    'a file with a first line for the shell',
    '#!/usr/bin/python -u\nimport sys; print(sys.stdout.write_through)\n',
    { says: /^False/ },
  ),
  code('-c: the ends of lines of others', 'a = 1\r\nprint(a)\r\n', { says: /^1/ }),
  code('-c: indented', '  print(1)', { ends: 1, complains: /IndentationError/ }),
  code('-c: an encoding of its own', '# coding: latin-1\nprint(ascii("é"))', { says: /xe9/ }),
  code(
    '-c: the future',
    'from __future__ import annotations\ndef f(x: nothing): pass\nprint(f.__annotations__)',
    { says: /'nothing'/ },
  ),
  {
    name: 'a file that is not there',
    args: ['/workspace/inputs/none.py'],
    ends: 2,
    complains: /can't open file '\/workspace\/inputs\/none.py'/,
  },
  { name: 'a file that may not be read', args: ['/etc/shadow'], ends: 2, complains: /Permission denied/ },
  {
    name: 'a file of the relative kind',
    args: ['main.py', 'x'],
    cwd: '$',
    files: { 'main.py': 'import sys; print(__file__, sys.argv, sys.path[0])' },
    says: /^\/workspace\/inputs\/program-\d+\/main.py \['main.py', 'x'\]/,
  },
  {
    name: 'a file of the relative kind that is not there',
    args: ['./sub/../none.py'],
    cwd: '$',
    ends: 2,
    complains: /can't open file/,
  },
  {
    name: 'a folder that is a program',
    args: ['$', 'x'],
    files: {
      '__main__.py': 'import sys, other; print(__file__, __spec__, sys.argv, sys.path[0])',
      'other.py': 'print(__file__)',
    },
    says: /__main__.py ModuleSpec/,
  },
  {
    name: 'a folder that is none',
    args: ['/workspace/work'],
    ends: 1,
    complains: /can't find '__main__' module/,
  },
  {
    name: 'an archive that is a program',
    args: ['$/app.zip', 'x'],
    files: { 'app.zip': archive },
    says: /app.zip\/__main__.py/,
  },
  {
    name: 'a compiled file',
    args: [
      '-c',
      'import py_compile, runpy, os, sys; py_compile.compile(sys.argv[1], "/tmp/a.pyc"); os.execvp("python", ["python", "/tmp/a.pyc"])',
      '$/main.py',
    ],
    files: { 'main.py': 'print(__name__, __file__, __cached__)' },
    says: /__main__ \/tmp\/a.pyc/,
  },
  {
    name: 'a file that is a pipe',
    args: ['/dev/stdin', 'a'],
    stdin: 'import sys; print(__file__, sys.argv)',
    says: /\/dev\/stdin/,
  },
  file(
    'a module beside the file',
    'import sys, beside; print(beside.x, beside.__file__, "beside" in sys.modules)',
    { files: { 'beside.py': 'x = 1' }, says: /^1 \/workspace\/inputs/ },
  ),
  file(
    'a module beside it that has the name of one in the library',
    'import json, random, socket; print(json.x)',
    { files: { 'json.py': 'x = "ours"', 'random.py': shadow, 'socket.py': shadow }, says: /ours/ },
  ),
  file(
    'modules beside it that have the names of what python itself has loaded',
    'import os, io, site, codecs, abc, stat, zipimport, time, posix, sitecustomize\nprint(os.__file__)',
    {
      files: Object.fromEntries(
        [
          'os',
          'io',
          'site',
          'codecs',
          'abc',
          'stat',
          'zipimport',
          'time',
          'posix',
          'posixpath',
          'genericpath',
          'encodings',
          'sitecustomize',
          'usercustomize',
          'sys',
          'builtins',
        ].map((name) => [`${name}.py`, shadow]),
      ),
    },
  ),
  file(
    'modules beside it that have the names of what a starter might have loaded',
    'import struct, signal, runpy, types, ctypes, fcntl, resource, socket, select, json, importlib.util, warnings, traceback, linecache, pathlib',
    {
      files: Object.fromEntries(
        [
          'struct',
          'signal',
          'runpy',
          'types',
          'ctypes',
          'fcntl',
          'resource',
          'socket',
          'select',
          'json',
          'warnings',
          'traceback',
          'linecache',
          'tokenize',
          'pathlib',
        ].map((name) => [`${name}.py`, shadow]),
      ),
      ends: 1,
      says: /^shadowed/,
      complains: /ImportError|AttributeError/,
    },
  ),
  {
    name: '-c: a module in the folder it runs in',
    args: ['-c', 'import beside, struct, sys; print(beside.__file__, sys.path[0] == "")'],
    cwd: '$',
    files: { 'beside.py': '', 'struct.py': shadow },
    says: /shadowed/,
  },
  file('a module that fails', 'import broken', {
    files: { 'broken.py': 'def f():\n    raise ValueError("é")\nf()\n' },
    ends: 1,
    complains: /broken.py", line 3/,
  }),
  file(
    'a module that imports the program again',
    'import sys, other\nif __name__ == "__main__": print(other.main is sys.modules["__main__"])',
    { files: { 'other.py': 'import main' }, says: /False/ },
  ),
  file(
    'its own source',
    'import inspect, sys\ndef f(): return "é"\nprint(inspect.getsource(f), inspect.getfile(f), sys._getframe().f_code.co_filename)',
    { says: /def f/ },
  ),
  code('-c: no source of its own', 'import inspect\ndef f(): pass\nprint(inspect.getsource(f))', {
    ends: 1,
    complains: /OSError: could not get source code|lineno is out of bounds|source code not available/,
  }),
];
