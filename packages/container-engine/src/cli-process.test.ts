import { describe, expect, test } from '@jest/globals';
import { execPath, getActiveResourcesInfo } from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { DockerProgram } from './cli-process.js';

/** Any program will do to test how one is run. */
const node = (environment: Record<string, string> = {}) =>
  new DockerProgram({ program: execPath, environment });
const script = (text: string) => ['-e', text] as const;

describe('a command of the docker program', () => {
  test('answers with what it printed', async () => {
    expect(await node().answer(script('console.log("é"); console.error("a warning")'))).toBe('é\n');
  });

  test('knows nothing of our own environment', async () => {
    const names = await node({ A: '1' }).answer(
      script('console.log(Object.keys(process.env).sort().join())'),
      {
        B: '2',
      },
    );
    expect(names.trim()).toBe('A,B');
  });

  test('has no stdin to wait for', async () => {
    expect(await node().answer(script('process.stdin.on("end", () => console.log("end")).resume()'))).toBe(
      'end\n',
    );
  });

  test('gets its arguments as they are, through no shell', async () => {
    const odd = ['$(id)', '`id`', 'a b', '"', "'", '*', '', '数'];
    const answer = await node().answer([
      ...script('console.log(JSON.stringify(process.argv.slice(1)))'),
      '--',
      ...odd,
    ]);
    expect(JSON.parse(answer)).toEqual(odd);
  });

  test('that fails tells why in its own words', async () => {
    const failing = node().answer(script('console.error("Error response from daemon: no"); process.exit(3)'));
    await expect(failing).rejects.toMatchObject({
      name: 'DockerCliError',
      message: 'docker -e: Error response from daemon: no',
    });
  });

  test('that fails without a word, or of a signal, tells that', async () => {
    await expect(node().answer(script('process.exit(3)'))).rejects.toThrow('exit code 3');
    await expect(node().answer(script('process.kill(process.pid, "SIGTERM")'))).rejects.toThrow('SIGTERM');
  });

  test('that never stops talking is stopped', async () => {
    const flood = 'const x = Buffer.alloc(1 << 16, "x"); const w = () => process.stdout.write(x, w); w()';
    await expect(node().answer(script(flood))).rejects.toThrow('longer than we take');
    while (getActiveResourcesInfo().includes('ProcessWrap')) await pause(10);
  });

  test('may complain at any length', async () => {
    const failing = node().answer(script('console.error("x".repeat(5e6)); process.exitCode = 1'));
    await expect(failing).rejects.toMatchObject({
      message: expect.stringMatching(/^docker -e: x{99,20000}$/),
    });
  });

  test.each(['no-such-docker-program', '/no/such/docker', '/'])(
    'that cannot be started: %s',
    async (program) => {
      const absent = new DockerProgram({ program, environment: {} });
      await expect(absent.answer(['ps'])).rejects.toMatchObject({
        code: 'engine_unavailable',
        message: expect.stringContaining('The docker program cannot be started (ps)'),
      });
    },
  );

  test('that is too long is refused before it runs', async () => {
    await expect(node().answer(script('x'.repeat(4e6)))).rejects.toThrow('too long');
    await expect(node().answer(script('\0'))).rejects.toThrow('null byte');
  });
});
