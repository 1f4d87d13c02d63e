import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getActiveResourcesInfo, kill } from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { CliFixture, engineOf, readAll } from './cli-fixture.contract.js';

let fixture: CliFixture;
beforeEach(async () => {
  fixture = await CliFixture.open();
});
afterEach(() => fixture.close());

describe('a start through the Docker CLI', () => {
  test.each([true, false])(
    'that the engine refuses fails, and so does reading (attached: %p)',
    async (attached) => {
      const { engine } = fixture;
      const id = await engine.create(await fixture.specOf(['/no/such/program']));
      const attachment = attached ? await engine.attach(id) : undefined;
      await expect(engine.start(id)).rejects.toThrow('/no/such/program');
      if (attachment) await expect(readAll(attachment)).rejects.toThrow('/no/such/program');
      await noChildren();
    },
  );

  test('of a program that fails at once, in words like those of the CLI, is a start', async () => {
    const words = 'Error response from daemon: EOF\nCannot connect to the Docker daemon\n';
    const spec = await fixture.specOf(['sh', '-c', 'printf %s "$1" >&2; exit 1', 'sh', words]);
    expect(await fixture.run(spec)).toEqual({ stdout: '', stderr: words, exitCode: 1, outOfMemory: false });
  });

  test('of a silent program is told while it runs', async () => {
    const { engine } = fixture;
    const id = await engine.create(await fixture.specOf(['sleep', '999']));
    const attachment = await engine.attach(id);
    await engine.start(id);
    expect(await engine.listOwned(fixture.dataDir)).toMatchObject([{ running: true }]);
    attachment.close();
    await noChildren();
  });

  test('has its output on the later of two attachments; the earlier one fails', async () => {
    const { engine } = fixture;
    const id = await engine.create(await fixture.specOf(['echo', 'hello']));
    const [earlier, later] = [await engine.attach(id), await engine.attach(id)];
    await engine.start(id);
    expect((await readAll(later)).stdout).toBe('hello\n');
    await expect(readAll(earlier)).rejects.toThrow('closed');
  });
});

test('output of the Docker CLI that breaks off is not taken for whole', async () => {
  const pidFile = join(fixture.dataDir, 'pid');
  const program = join(fixture.dataDir, 'docker');
  await writeFile(program, `#!/bin/sh\n[ "$2" = --attach ] && echo $$ > '${pidFile}'\nexec docker "$@"\n`);
  await chmod(program, 0o755);
  const engine = engineOf({ ...fixture.cli, program });
  const id = await engine.create(await fixture.specOf(['sh', '-c', 'echo first; sleep 999']));
  const attachment = await engine.attach(id);
  await engine.start(id);
  kill(Number(await readFile(pidFile, 'utf8')), 'SIGKILL');
  await expect(readAll(attachment)).rejects.toThrow('broke off');
});

test.each(['no-such-docker-program', '/no/such/docker'])(
  'every call says plainly that there is no docker program: %s',
  async (program) => {
    const engine = engineOf({ ...fixture.cli, program });
    const spec = await fixture.specOf(['true']);
    const id = '0'.repeat(64);
    for (const call of [
      () => engine.info(),
      () => engine.findImage('x'),
      () => engine.create(spec),
      () => engine.attach(id),
      () => engine.start(id),
      () => engine.wait(id),
      () => engine.kill(id),
      () => engine.remove(id),
      () => engine.listOwned(fixture.dataDir),
    ]) {
      await expect(call()).rejects.toMatchObject({
        code: 'engine_unavailable',
        message: expect.stringContaining('was not found'),
      });
    }
  },
);

test('the Docker CLI leaves no child, descriptor or file behind, however a run ends', async () => {
  const { engine } = fixture;
  const descriptors = async () => (await readdir('/proc/self/fd')).length;
  const files = async () =>
    (await readdir(tmpdir())).filter((name) => name.startsWith('secbox-variables-')).length;
  const runOne = async (n: number) => {
    const environment = { N: String(n) };
    const id = await engine.create(await fixture.specOf(['sh', '-c', 'cat; sleep 999'], { environment }));
    const attachment = await engine.attach(id);
    if (n % 4 === 0) attachment.close();
    await engine.start(id);
    const reading = readAll(attachment).catch(() => undefined);
    const waiting = engine.wait(id).catch(() => undefined);
    if (n % 4 === 1) attachment.close();
    if (n % 4 === 2) await engine.kill(id);
    await engine.remove(id);
    await Promise.all([reading, waiting]);
  };
  await runOne(2);
  const before = await descriptors();
  for (let n = 0; n < 8; n += 4) await Promise.all([0, 1, 2, 3].map((k) => runOne(n + k)));
  await noChildren();
  // Handles close a moment after their streams do, and other tests have files of their own for a moment:
  // what stays is what the time limit of this test would meet.
  while ((await descriptors()) > before) await pause(10);
  while ((await files()) > 0) await pause(10);
  expect(await descriptors()).toBeLessThanOrEqual(before);
});

/** Settles when every child of ours is gone, which is a moment after it was killed. */
async function noChildren(): Promise<void> {
  while (getActiveResourcesInfo().includes('ProcessWrap')) await pause(10);
}
