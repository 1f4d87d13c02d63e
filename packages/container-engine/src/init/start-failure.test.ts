import { describe, expect, test } from '@jest/globals';
import { startSteps, type StartStep } from './protocol.js';
import { describeStartFailure, errnoName, shellExitCode } from './start-failure.js';

describe('a command that did not start', () => {
  test.each<[StartStep, number, number | undefined]>([
    ['exec', 2, 127],
    ['exec', 20, 127],
    ['exec', 13, 126],
    ['exec', 8, 126],
    ['exec', 7, 126],
    ['interpreter', 2, 127],
    ['chdir', 2, undefined],
    ['fork', 11, undefined],
    ['limits', 1, undefined],
    ['descriptors', 24, undefined],
  ])('step %s, errno %i: a shell would exit with %p', (step, errno, code) => {
    expect(shellExitCode({ step, errno })).toBe(code);
  });

  test('every step has a sentence', () => {
    for (const step of Object.keys(startSteps) as StartStep[]) {
      expect(describeStartFailure({ step, errno: 13 })).toMatch(/^(The|A) .*\.$/);
    }
    expect(describeStartFailure({ step: 'exec', errno: 2 })).toBe('The command was not found.');
    expect(describeStartFailure({ step: 'exec', errno: 7 })).toContain('too long');
  });

  test('numbers that are not in the table stay numbers', () => {
    expect(errnoName(2)).toBe('ENOENT');
    expect(errnoName(9999)).toBe('errno 9999');
  });
});
