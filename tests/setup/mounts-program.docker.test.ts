import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { EngineApi } from '../../docker/setup/engine-api.mjs';
import { obtainMountsProgram } from '../../docker/setup/mounts-program.mjs';
import { repositoryRoot } from '../../docker/setup/settings.mjs';

const host = process.env['DOCKER_HOST'] ?? '';
const engine = {
  api: new EngineApi({ host }),
  endpoint: { host, source: 'DOCKER_HOST' as const },
  startedHere: false,
};
const onThisHost = process.platform === 'linux' && process.getuid?.() === 0 ? describe : describe.skip;

let at: { readonly dataDir: string; readonly folder: string };
beforeEach(async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'mounts-'));
  at = { dataDir, folder: join(dataDir, 'sources') };
  await cp(join(repositoryRoot, 'packages/host-mounts/mounter'), at.folder, { recursive: true });
});
afterEach(async () => {
  await rm(at.dataDir, { recursive: true });
  const query = { all: '1', filters: JSON.stringify({ label: ['secbox=set-up'] }) };
  expect(await engine.api.call('GET', '/containers/json', { query })).toEqual([]);
});

const obtain = (of = engine, env: NodeJS.ProcessEnv = {}) =>
  obtainMountsProgram(of, { ...at, env, signal: new AbortController().signal, say: () => undefined });
const nowhere = { ...engine, api: new EngineApi({ host: 'unix:///nowhere' }) };

onThisHost('the program that mounts folders', () => {
  test('is compiled once, by the engine alone, and again when a source changes', async () => {
    const made = await obtain();
    expect(made).toEqual({ program: expect.stringMatching(/bin\/secbox-mounts-[0-9a-f]{12}$/), built: true });
    expect(await stat(made.program ?? '')).toMatchObject({ uid: 0, mode: 0o100755 });
    // The engine is not even asked.
    expect(await obtain(nowhere)).toEqual({ program: made.program, built: false });

    await writeFile(join(at.folder, 'README.md'), 'A document changes nothing.');
    expect(await obtain(nowhere)).toEqual({ program: made.program, built: false });
    await writeFile(join(at.folder, 'more.c'), 'int more(void);\nint more(void) { return 1; }\n');
    const changed = await obtain();
    expect(changed).toMatchObject({ built: true });
    expect(changed.program).not.toBe(made.program);
    expect(await readdir(join(at.dataDir, 'bin'))).toHaveLength(2);
  });

  test('runs on this host, without a library, and says what it needs', async () => {
    const { program = '' } = await obtain();
    expect((await readFile(program)).subarray(0, 4).toString('latin1')).toBe('\x7fELF');
    expect(spawnSync(program)).toMatchObject({ status: 64 });
    const child = spawn(program, ['--source', at.folder, '--target', join(at.dataDir, 'slots')]);
    child.stdin.end();
    const [ready] = (await once(child.stdout, 'data')) as [Buffer];
    expect(ready.toString('hex')).toBe('000000050000000000');
    expect(await once(child, 'close')).toEqual([0, null]);
  });

  test('made by many at once is whole for each', async () => {
    const all = await Promise.all([obtain(), obtain(), obtain()]);
    expect(new Set(all.map(({ program }) => program)).size).toBe(1);
    expect(await readdir(join(at.dataDir, 'bin'))).toHaveLength(1);
  });

  test('that does not compile is a failure in the words of the compiler, and leaves nothing', async () => {
    await writeFile(join(at.folder, 'wrong.c'), '#error this is wrong\n');
    await expect(obtain()).rejects.toMatchObject({
      name: 'Failure',
      details: expect.stringContaining('this is wrong') as unknown,
    });
    await expect(readdir(join(at.dataDir, 'bin'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('is the one that was chosen, if any', async () => {
    expect(await obtain(nowhere, { SECBOX_MOUNTS_PROGRAM: '/opt/mounts' })).toEqual({
      program: '/opt/mounts',
      built: false,
    });
  });

  test('is of no use to an engine on another machine', async () => {
    const remote = { ...nowhere, endpoint: { ...engine.endpoint, host: 'tcp://engine:2376' } };
    expect(await obtain(remote)).toEqual({ program: undefined, why: 'the engine is on another machine' });
  });
});
