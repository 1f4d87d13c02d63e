import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

// The sanitizers take their time on a busy machine.
jest.setTimeout(120_000);

const sources = join(import.meta.dirname, '../../docker/sandbox/init');
const compile = promisify(execFile);
const flags = ['-Wall', '-Wextra', '-Werror'];
const sanitizers = ['-O1', '-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all'];

/** A C compiler is what building the image needs too; where there is none, these fail and say so. */
describe('the sources of the init', () => {
  const made: { folder: string } = { folder: '' };

  beforeAll(async () => {
    made.folder = await mkdtemp(join(tmpdir(), 'secbox-init-'));
  });
  afterAll(async () => {
    await rm(made.folder, { recursive: true });
  });

  test('compile without a warning, as the image builds them', async () => {
    const files = (await readdir(sources))
      .filter((name) => name.endsWith('.c'))
      .map((name) => join(sources, name));
    await compile('gcc', ['-static', '-O2', ...flags, '-o', join(made.folder, 'secbox-init'), ...files]);
    // It refuses to be anything but PID 1, where its sweep would end the machine's other processes.
    const refusal = compile(join(made.folder, 'secbox-init'));
    await expect(refusal).rejects.toMatchObject({ code: 64, stderr: 'secbox-init: must be PID 1\n' });
  });

  test('survive 300,000 conversations that are nearly right, under the sanitizers', async () => {
    const driver = join(made.folder, 'fuzz-frames');
    const files = ['inbox.c', 'request.c'].map((name) => join(sources, name));
    const own = join(import.meta.dirname, 'fuzz-frames.c');
    await compile('gcc', [...sanitizers, ...flags, `-I${sources}`, '-o', driver, own, ...files]);
    for (const seed of ['1', '2', '3']) {
      const { stdout } = await compile(driver, ['100000', seed]);
      const [, requests, , kills, faults] = stdout.match(/\d+/g)?.map(Number) ?? [];
      // It came past the first gate often enough to mean something.
      expect(Math.min(requests ?? 0, kills ?? 0, faults ?? 0)).toBeGreaterThan(1000);
    }
  });
});
