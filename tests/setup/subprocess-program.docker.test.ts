import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { EngineApi } from '../../docker/setup/engine-api.mjs';
import { obtainSubprocessProgram } from '../../docker/setup/subprocess-program.mjs';

const host = process.env['DOCKER_HOST'] ?? '';
const engine = {
  api: new EngineApi({ host }),
  endpoint: { host, source: 'DOCKER_HOST' as const },
  startedHere: false,
};

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'subprocess-'));
});
afterEach(() => rm(dataDir, { recursive: true }));

const obtain = (env: NodeJS.ProcessEnv = {}) =>
  obtainSubprocessProgram(engine, {
    dataDir,
    env,
    signal: new AbortController().signal,
    say: () => undefined,
  });

test('the program that runs commands is compiled once, by the engine alone, and refuses what makes no sense', async () => {
  const made = await obtain();
  expect(made).toEqual({
    program: expect.stringMatching(/bin\/secbox-subprocess-[0-9a-f]{12}$/),
    built: true,
  });
  expect(await obtain()).toEqual({ ...made, built: false });
  const program = made.program ?? '';
  expect(await stat(program)).toMatchObject({ mode: 0o100755 });

  const folders = ['inputs', 'work', 'artifacts'].map((name) => `--${name}=${dataDir}`);
  const usual = ['--uid=1000', '--gid=1000', '--processes=8', ...folders];
  const refused = [
    [],
    usual.slice(1),
    [...usual, '--uid=0'],
    [...usual, '--gid=0'],
    [...usual, '--uid=-1'],
    [...usual, '--uid=4294967296'],
    [...usual, '--processes=many'],
    [...usual, '--processes=0'],
    [...usual, '--work=relative'],
    [...usual, '--hide=relative'],
    [...usual, '--unknown'],
    [...usual, 'more'],
    [...usual, ...Array.from({ length: 9 }, () => '--hide=/x')],
  ];
  for (const args of refused) {
    const { status, stdout, stderr } = spawnSync(program, args, { input: '', encoding: 'utf8' });
    expect({ args, status, stdout }).toEqual({ args, status: 64, stdout: '' });
    expect(stderr).toMatch(/^secbox-subprocess: .+\n$/);
  }
  const absent = spawnSync(program, [...usual, '--work=/nowhere'], { input: '', encoding: 'utf8' });
  expect(absent).toMatchObject({ status: 71, stderr: expect.stringContaining('cannot open /nowhere') });
});

test('one that is named is taken as it is', async () => {
  expect(await obtain({ SECBOX_SUBPROCESS_PROGRAM: '/opt/x' })).toEqual({ program: '/opt/x', built: false });
});
