import type { Rule } from './rule.js';

/** Where we cannot tell. None of them is below MEDIUM: what was not seen is not safe. */
export const limitRules = {
  'cannot-tell.parse-error': {
    level: 'MEDIUM',
    title: 'Does not parse',
    why: 'A part that the grammar cannot read may still run, and was not looked at.',
    example: { language: 'python', finds: 'def f(:\n  pass', passes: 'def f():\n  pass' },
  },
  'cannot-tell.too-complex': {
    level: 'MEDIUM',
    title: 'Nested too deeply or too large a tree',
    why: 'Code of this shape was not looked at to its end.',
    example: {
      language: 'javascript',
      finds: `x = ${'['.repeat(700)}${']'.repeat(700)}`,
      passes: 'x = [[[]]]',
    },
  },
  'cannot-tell.too-large': {
    level: 'MEDIUM',
    title: 'Larger than is assessed',
    why: 'Code of this size was not looked at at all.',
  },
  'cannot-tell.timeout': {
    level: 'MEDIUM',
    title: 'Took longer than the deadline',
    why: 'The assessment was ended before it had seen everything.',
  },
  'cannot-tell.busy': {
    level: 'MEDIUM',
    title: 'Too many wait for assessment',
    why: 'Nobody was free to look at this code in time.',
  },
  'cannot-tell.failed': {
    level: 'MEDIUM',
    title: 'The assessment failed',
    why: 'The thread that looked at this code ended before it had an answer.',
  },
  'cannot-tell.hidden-characters': {
    level: 'MEDIUM',
    title: 'Characters that are not what they look like',
    why: 'NUL, half characters and marks that turn the direction of text make readers and interpreters see different code.',
    example: { language: 'bash', finds: 'ec\0ho hi', passes: 'echo hi' },
  },
  'cannot-tell.encoding': {
    level: 'HIGH',
    title: 'Declares an encoding of its source',
    why: 'The interpreter would decode the file in another way and run other code than is read here.',
    example: { language: 'python', finds: '# coding: utf-7\nprint(1)', passes: '# coding: utf-8\nprint(1)' },
  },
  'cannot-tell.language': {
    level: 'MEDIUM',
    title: 'Code in a language that is not assessed',
    why: 'A program in this language can do anything, and was not looked at.',
    example: { language: 'bash', finds: `perl -e 'print 1'`, passes: `printf 1` },
  },
  'cannot-tell.nested-too-deeply': {
    level: 'MEDIUM',
    title: 'Code in code in code',
    why: 'Texts that run as code were followed to a bounded depth and amount only.',
  },
  'cannot-tell.unknown-module': {
    level: 'MEDIUM',
    title: 'Loads a module that is not known',
    why: 'Loading a module runs it, and its code was not seen.',
    example: { language: 'python', finds: 'import mine', passes: 'import json' },
  },
  'cannot-tell.computed-member': {
    level: 'MEDIUM',
    title: 'Calls a function that is not known, by a name that is not known either',
    why: 'It can be any function that the object leads to.',
    example: {
      language: 'python',
      finds: 'def call(target, name):\n  return getattr(target, name)()',
      passes: 'def call(target):\n  return target.name()',
    },
  },
  'cannot-tell.module-handed-on': {
    level: 'MEDIUM',
    title: 'Hands on a module that can do harm',
    why: 'Whoever gets it can call anything of it, under whatever name it has there.',
    example: {
      language: 'python',
      finds: 'import subprocess\ndef tools():\n  return subprocess',
      passes: 'import math\ndef tools():\n  return math',
    },
  },
  'cannot-tell.unknown-command': {
    level: 'MEDIUM',
    title: 'Runs a program that is not known',
    why: 'What this program does was not seen.',
    example: { language: 'bash', finds: './deploy --now', passes: 'ls -l' },
  },
  'cannot-tell.unseen-script': {
    level: 'MEDIUM',
    title: 'Runs a script from a file or from its input',
    why: 'The script can do anything, and was not handed in.',
    example: { language: 'bash', finds: 'source ./env.sh', passes: 'cat ./env.sh' },
  },
} as const satisfies Record<string, Rule>;
