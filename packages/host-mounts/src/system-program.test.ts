import { describe, expect, test } from '@jest/globals';
import { ProgramError, runSystemProgram } from './system-program.js';

const shell = (script: string, timeoutMs?: number, complaints?: 'dropped') =>
  runSystemProgram('sh', ['-c', script], timeoutMs, complaints);
const failureOf = (run: Promise<string>) =>
  run.then(
    () => undefined,
    (error: unknown) => error,
  );

/** More than is ever kept of what a program prints. */
const complain = 'head -c 3000000 /dev/zero | tr "\\0" x';

describe('a program of the system', () => {
  test('gives what it printed', async () => {
    expect(await shell('echo 5')).toBe('5\n');
  });

  test('that fails tells its exit code, its output and the beginning of its complaints', async () => {
    const failure = await failureOf(shell('echo 5; echo why >&2; exit 3'));
    expect(failure).toBeInstanceOf(ProgramError);
    expect(failure).toMatchObject({ message: 'sh failed: why', exitCode: 3, output: '5\n' });
  });

  test.each(['dropped', undefined] as const)(
    'comes to its end however much it complains (%s)',
    async (complaints) => {
      const failure = await failureOf(shell(`${complain} >&2; echo 5; exit 1`, undefined, complaints));
      expect(failure).toMatchObject({ exitCode: 1, output: '5\n' });
      expect((failure as Error).message.length).toBeLessThan(600);
    },
  );

  test('that takes too long, prints too much or is killed has no exit code', async () => {
    expect(await failureOf(shell('echo 5; exec sleep 60', 100))).toMatchObject({
      message: 'sh took too long',
      exitCode: null,
    });
    expect(await failureOf(shell(complain))).toMatchObject({
      message: 'sh printed too much',
      exitCode: null,
    });
    expect(await failureOf(shell('kill -9 $$'))).toMatchObject({
      message: 'sh failed: SIGKILL',
      exitCode: null,
    });
  });

  test('that is not there is told as such', async () => {
    expect(await failureOf(runSystemProgram('no-such-program', []))).toMatchObject({
      message: 'no-such-program is not installed',
      exitCode: null,
    });
  });
});
