import { describe, expect, test } from '@jest/globals';
import type { ExecCommand } from '@secbox/contracts';
import { planCommand } from './exec-command.js';

const shell = (more: Partial<ExecCommand> = {}): ExecCommand => ({
  kind: 'shell',
  command: 'bash',
  args: ['-lc', 'true'],
  ...more,
});
const python = (...args: string[]): ExecCommand => ({ kind: 'python', command: 'python', args });

describe('the form of a command', () => {
  test.each([
    [shell()],
    [shell({ args: ['-lc', 'echo "$1"', 'name', 'argument'] })],
    [python('-c', 'print(1)')],
    [python('-c', 'import sys', '--flag', 'x')],
    [python('/workspace/inputs/main.py', '-v')],
    [python('/workspace/work/sub/main.py')],
  ])('%j is taken as it is', (exec) => {
    expect(planCommand(exec, {})).toMatchObject({ command: exec.command, args: exec.args });
  });

  test.each([
    [shell({ command: 'sh' })],
    [shell({ args: ['-c', 'true'] })],
    [shell({ args: ['-lc'] })],
    [python('-c')],
    [python('-m', 'http.server')],
    [python('main.py')],
    [python('/workspace/inputs')],
    [{ ...python('-c', ''), command: 'bash' }],
  ])('%j is refused', (exec) => {
    expect(() => planCommand(exec, {})).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });

  test('a script may not leave its folder', () => {
    expect(() => planCommand(python('/workspace/inputs/../../etc/x.py'), {})).toThrow(
      expect.objectContaining({ code: 'invalid_path' }),
    );
  });
});

describe('sizes', () => {
  const most = 'x'.repeat(131_070);

  test('the longest argument the kernel takes is taken, one byte more is not', () => {
    expect(planCommand(shell({ args: ['-lc', most] }), {}).args[1]).toHaveLength(131_070);
    expect(() => planCommand(shell({ args: ['-lc', `${most}x`] }), {})).toThrow('at most 131070 bytes');
  });

  test('bytes count, not characters', () => {
    expect(() => planCommand(shell({ args: ['-lc', 'é'.repeat(65_536)] }), {})).toThrow(
      'at most 131070 bytes',
    );
  });

  test('all together stay below the kernel limit', () => {
    expect(() => planCommand(shell({ args: ['-lc', ...Array<string>(9).fill(most)] }), {})).toThrow(
      'together',
    );
  });
});

describe('the environment', () => {
  test("is the image's, with the request's over it; only the request's names are recorded", () => {
    const planned = planCommand(shell({ env: { LANG: 'C', B: '2', A: '' } }), {
      PATH: '/bin',
      LANG: 'C.UTF-8',
    });
    expect(planned.environment).toEqual({ PATH: '/bin', LANG: 'C', B: '2', A: '' });
    expect(planned.environmentKeys).toEqual(['A', 'B', 'LANG']);
  });

  test.each([
    'LD_PRELOAD',
    'LD_AUDIT',
    'BASH_ENV',
    'ENV',
    'PYTHONSTARTUP',
    'BASH_FUNC_ls',
    'SHELLOPTS',
    'GLIBC_TUNABLES',
  ])('%s is refused (case 48)', (name) => {
    expect(() => planCommand(shell({ env: { [name]: 'x' } }), {})).toThrow(`${name} may not be set`);
  });

  test.each(['', '1A', 'A=B', 'A B', 'A\0', 'ä', 'x'.repeat(300)])(
    'the name %j is refused (case 48)',
    (name) => {
      expect(() => planCommand(shell({ env: { [name]: 'x' } }), {})).toThrow(
        expect.objectContaining({ code: 'invalid_request' }),
      );
    },
  );

  test('an error never holds a value', () => {
    expect(() => planCommand(shell({ env: { A: 'canary\0' } }), {})).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('canary') }),
    );
  });
});
