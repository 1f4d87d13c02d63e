import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { allowedCommands } from './allowed-commands.js';
import { cleanEnvironment } from './clean-environment.js';
import type { CommandPlace } from './command-place.js';
import { guardCommand } from './guard-command.js';

const root = '/webIde/product/skill/overlay/1001/agent001/myskill';
const skill: CommandPlace = { kind: 'skill', printedRoot: root };
const sandbox: CommandPlace = { kind: 'sandbox', printedRoot: '/webIde/product/sandbox/1001/agent001' };
const argsOf = (...args: string[]) => guardCommand('ls', args, skill).args;
const refused = (run: () => unknown, code = 'command_refused') =>
  expect(run).toThrow(expect.objectContaining({ code }));

describe('case 52: commands', () => {
  test('of the list are taken', () => {
    for (const command of allowedCommands)
      expect(guardCommand(command, ['-x'], skill)).toEqual({ command, args: ['-x'] });
    expect(allowedCommands).toHaveLength(17);
  });
  test.each([
    '/tmp/ls',
    '/bin/ls',
    './ls',
    'ls;id',
    'ls id',
    ' ls',
    'ls\n',
    'LS',
    '$(id)',
    '`id`',
    'python',
    'constructor',
    'nc',
  ])('%j is refused', (command) => refused(() => guardCommand(command, [], skill)));
  test.each([undefined, null, '', 5, ['ls'], {}])('%j is no command', (command) =>
    refused(() => guardCommand(command, [], skill), 'invalid_request'),
  );
});

describe('case 52: arguments', () => {
  test.each([
    '/etc/passwd',
    '/',
    '//etc',
    `${root}x`,
    `${root}/../other`,
    '/workspace/inputs/x',
    '/workspace/work/../inputs',
    '..',
    '../x',
    'a/../../b',
    'a/..',
    '--file=/etc/passwd',
    '--file=../x',
    '-f/etc/passwd',
    'if=/dev/sda',
    '@/etc/passwd',
    'file:///etc/passwd',
    '-o=FILE:///x',
    'cd .. && ls',
    '"../x"',
    'x:..:y',
    '..\\x',
  ])('%j is refused', (argument) => refused(() => argsOf(argument)));

  test.each([
    'main.py',
    '--city',
    'Beijing',
    '',
    '-la',
    'wait...',
    '{1..3}',
    'a..b',
    '...',
    '$(id)',
    'a;b',
    '*',
    'http://x/y',
    '北京',
    's/a/b/',
    './x',
    'a//b',
  ])('%j is taken as it is', (argument) => expect(argsOf(argument)).toEqual([argument]));

  test('below the path that was told mean the work folder', () => {
    expect(argsOf(root, `${root}/`, `${root}/a b/c`, `--in=${root}/x`, `-C${root}`, `@${root}/x`)).toEqual([
      '/workspace/work',
      '/workspace/work/',
      '/workspace/work/a b/c',
      '--in=/workspace/work/x',
      '-C/workspace/work',
      '@/workspace/work/x',
    ]);
    expect(argsOf('/workspace/work/x')).toEqual(['/workspace/work/x']);
    refused(() => guardCommand('ls', [root], sandbox));
  });

  test.each([
    'x',
    { 0: 'x' },
    [1],
    [null],
    [['x']],
    ['a\0'],
    ['\ud800'],
    Array(1001).fill('x'),
    ['x'.repeat(200_000)],
  ])('that are no list of texts are told so (%#)', (args) =>
    refused(() => guardCommand('ls', args, skill), 'invalid_request'),
  );
  test('may be left out', () => expect(guardCommand('ls', undefined, skill).args).toEqual([]));

  test('SKILL.md is for the root of a skill', () => {
    expect(argsOf('SKILL.md', './skill.md', `${root}/SKILL.md`, 'MYSKILL.md')).toHaveLength(4);
    for (const argument of ['a/SKILL.md', './a/skill.MD', `${root}/a/SKILL.md`, '--out=a//SKILL.md']) {
      refused(() => argsOf(argument), 'skill_file_protected');
    }
    refused(() => guardCommand('rm', ['SKILL.md'], sandbox), 'skill_file_protected');
  });
});

const hostile = fc.array(
  fc.constantFrom(
    '/',
    '..',
    '.',
    'a',
    '=',
    '@',
    '-',
    '--',
    root,
    '/workspace/work',
    'etc',
    ' ',
    '\\',
    'é',
    'file:',
    'SKILL.md',
  ),
  { maxLength: 8 },
);

test('whatever is taken stays in its folder, changes nothing but that prefix, and is taken again', () => {
  fc.assert(
    fc.property(
      hostile.map((parts) => parts.join('')),
      fc.constantFrom(skill, sandbox),
      (argument, place) => {
        let taken: string | undefined;
        try {
          [taken] = guardCommand('cat', [argument], place).args;
        } catch (error) {
          expect(error).toMatchObject({ name: 'SecboxError' });
          return;
        }
        expect(taken?.split(/[/\\ =@]/)).not.toContain('..');
        const value = taken?.replace(/^(?:--?[A-Za-z][\w-]*=|[A-Za-z_]\w*=|-[A-Za-z](?=\/)|@)/, '') ?? '';
        if (value.startsWith('/')) expect(`${value}/`.startsWith('/workspace/work/')).toBe(true);
        expect([argument, argument.replace(place.printedRoot, '/workspace/work')]).toContain(taken);
        expect(guardCommand('cat', [taken], place).args).toEqual([taken]);
      },
    ),
    { numRuns: 5_000 },
  );
});

test('words without slashes and dots are always taken', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }).filter((text) => !/[/.\0:]/.test(text)),
      (text) => {
        expect(argsOf(text)).toEqual([text]);
      },
    ),
  );
});

test('variables of a cluster are not passed on', () => {
  expect(
    cleanEnvironment({
      KUBERNETES_PORT: '1',
      SERVICE_X: '1',
      SECRET_KEY: '1',
      secret_key: '1',
      MY_SECRET_: '2',
      A: '3',
    }),
  ).toEqual({ MY_SECRET_: '2', A: '3' });
});
