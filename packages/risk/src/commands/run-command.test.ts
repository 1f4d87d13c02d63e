import { beforeAll, describe, expect, test } from '@jest/globals';
import type { RiskLevel } from '../level.js';
import { openRating } from '../testing/rate-script.js';

let rate: (script: string) => RiskLevel;

beforeAll(async () => {
  rate = await openRating();
});

describe('programs that run others', () => {
  test.each(['status', 'log -1', 'diff', 'show HEAD', 'branch', 'blame x', 'ls-files', '-C . status'])(
    'git %s may run what the repository names',
    (words) => {
      expect(rate(`git ${words}`)).toBe('MEDIUM');
    },
  );

  test.each([
    ['dc -e 1', 'MEDIUM'],
    [`sort --compress-program='rm -rf /' x`, 'CRITICAL'],
    [`sort --compress-prog='rm -rf /' x`, 'CRITICAL'],
    [`sort --comp 'rm -rf /' x`, 'CRITICAL'],
    ['sort --outp=/etc/x x', 'HIGH'],
    [`tar --use-comp='rm -rf /' -xf a`, 'CRITICAL'],
    [`tar --checkpoint-act=exec='rm -rf /' -xf a`, 'CRITICAL'],
    [`split --filt='rm -rf /' a`, 'CRITICAL'],
    [`env --split='rm -rf /'`, 'CRITICAL'],
    ['rm --recurs /', 'CRITICAL'],
  ] as const)('%s is %s', (script, level) => {
    expect(rate(script)).toBe(level);
  });

  test.each([
    ['fd x -x rm', 'MEDIUM'],
    ['fd . / -x rm', 'CRITICAL'],
    ['fd . / --exec-batch=rm', 'CRITICAL'],
    ['fd -Hx ./tool', 'MEDIUM'],
    ['fdfind x -X python', 'MEDIUM'],
    [String.raw`fd x -x echo {/.} \; -x rm -rf /`, 'CRITICAL'],
  ] as const)('%s runs it for each file: %s', (script, level) => {
    expect(rate(script)).toBe(level);
  });

  test.each([
    ['gawk -bf tool.awk data', 'MEDIUM'],
    [`gawk --sour='BEGIN { system("id") }'`, 'MEDIUM'],
    [`awk -W source='BEGIN { x = 1 }'`, 'MEDIUM'],
    ['awk -D 1', 'MEDIUM'],
    ['gawk --inc=lib 1', 'MEDIUM'],
  ] as const)('%s takes a program from elsewhere: %s', (script, level) => {
    expect(rate(script)).toBe(level);
  });

  test.each([
    'git --version',
    'sort --reverse --key=2 x',
    'sort --check x',
    'fd pattern src',
    'fd -e py',
    'fd x -x echo {}',
    'find . -name "*.py"',
    `awk -F, '{ print $1 }' a.csv`,
    `awk -F , -v x=1 '{ print $1 }' a.csv`,
    `gawk --posix --field-separator=, '{ print $1 }' a.csv`,
    `echo '1 + 1' | bc`,
  ])('%s is SAFE', (script) => {
    expect(rate(script)).toBe('SAFE');
  });
});
