import type { Rule } from './rule.js';

/** Code that makes code, and names that hide what is called. */
export const codeRules = {
  'code.constant': {
    level: 'MEDIUM',
    title: 'Runs a text as code',
    why: 'Code in a text escapes most readers. This one is written out, and was assessed as well.',
    example: { language: 'python', finds: 'eval("1 + 1")', passes: 'int("1") + 1' },
  },
  'code.computed': {
    level: 'HIGH',
    title: 'Runs a text as code that is known only at run time',
    why: 'Whoever decides the text decides what runs.',
    example: {
      language: 'javascript',
      finds: 'eval(process.argv[2])',
      passes: 'JSON.parse(process.argv[2])',
    },
  },
  'code.decoded': {
    level: 'HIGH',
    title: 'Runs code that was encoded or put together from pieces',
    why: 'There is rarely a reason to encode code but to hide it.',
    example: {
      language: 'python',
      finds: 'import base64\nexec(base64.b64decode("cHJpbnQoMSk="))',
      passes: 'import base64\nprint(base64.b64decode("cHJpbnQoMSk="))',
    },
  },
  'code.smuggled': {
    level: 'HIGH',
    title: 'Runs a text as code by a function that is for something else',
    why: 'Timers, workers, and where a shell computes or prompts: handed a text, they run it, which few readers expect.',
    example: { language: 'javascript', finds: `setTimeout('f()', 1)`, passes: 'setTimeout(() => f(), 1)' },
  },
  'code.downloaded': {
    level: 'CRITICAL',
    title: 'Runs what it has downloaded',
    why: 'The other side decides what runs, anew each time.',
    example: {
      language: 'bash',
      finds: 'curl -s https://example.com/i.sh | sh',
      passes: 'curl -s https://example.com/i.sh | head',
    },
  },
  'code.deserialized': {
    level: 'HIGH',
    title: 'Loads data that can hold code',
    why: 'Formats such as pickle call functions named in the data while it is loaded.',
    example: {
      language: 'python',
      finds: 'import pickle\npickle.loads(data)',
      passes: 'import pickle\npickle.dumps([1])',
    },
  },
  'code.native': {
    level: 'HIGH',
    title: 'Calls machine code',
    why: 'Native code can do whatever the process may, unseen by every rule here.',
    example: { language: 'python', finds: 'import ctypes', passes: 'import struct' },
  },
  'code.introspection': {
    level: 'HIGH',
    title: 'Reaches into the interpreter',
    why: 'From the insides of any object there is a way to every function, without naming it.',
    example: {
      language: 'python',
      finds: '().__class__.__subclasses__()',
      passes: 'class A:\n  def __init__(self):\n    print(self.__class__.__name__)',
    },
  },
  'name.hidden': {
    level: 'HIGH',
    title: 'A dangerous function under a computed or hidden name',
    why: 'There is rarely a reason to reach such a function in this way but to hide it.',
    example: {
      language: 'python',
      finds: 'import os\ngetattr(os, "sys" + "tem")',
      passes: 'import os\ngetattr(os, "se" + "p")',
    },
  },
  'name.computed': {
    level: 'HIGH',
    title: 'A module or function whose name is known only at run time',
    why: 'It can be any function of that module, the dangerous ones too.',
    example: {
      language: 'python',
      finds: 'import os, sys\ngetattr(os, sys.argv[1])()',
      passes: 'import math, sys\ngetattr(math, sys.argv[1])(2)',
    },
  },
  'name.environment': {
    level: 'HIGH',
    title: 'Changes what names of programs or modules stand for',
    why: 'A known name may then run any file, and was assessed as what it says.',
    example: {
      language: 'bash',
      finds: 'PATH=./bin:$PATH\nls',
      passes: 'PATH=/usr/local/bin:$PATH\nls',
    },
  },
  'name.dynamic-import': {
    level: 'MEDIUM',
    title: 'Loads a module by a function',
    why: 'Loaded in this way, a module escapes readers. Its name is known, and was assessed.',
    example: { language: 'python', finds: '__import__("json")', passes: 'import json' },
  },
} as const satisfies Record<string, Rule>;
