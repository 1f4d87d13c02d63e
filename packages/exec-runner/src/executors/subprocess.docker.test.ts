import { mkdir, mkdtemp, readFile, rm, chown, chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { MountSource } from '@secbox/workspace';
import { underInit, type Outputs } from '../container-process.js';
import { isAlive } from './host-process.js';
import { Subprocess } from './subprocess.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-subprocess-'));
  await chmod(folder, 0o755);
  for (const name of ['inputs', 'work', 'artifacts']) {
    await mkdir(join(folder, name));
    await chown(join(folder, name), 1000, 1000);
  }
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function launch(hidden: readonly string[] = []) {
  const program = env['SECBOX_SUBPROCESS_PROGRAM'];
  if (program === undefined)
    throw new Error('SECBOX_SUBPROCESS_PROGRAM is not set; run the tests with npm test.');
  const at = (name: string) => join(folder, name) as MountSource;
  const mounts = { inputs: at('inputs'), work: at('work'), artifacts: at('artifacts') };
  const subprocess = new Subprocess({
    program,
    owner: { uid: 1000, gid: 1000 },
    mounts,
    processes: 64,
    hidden,
  });
  const said: Buffer[] = [];
  const keep = { append: (data: Buffer) => Promise.resolve(void said.push(data)) };
  const init = underInit(subprocess.attachment);
  const run = async (script: string) => {
    const command = { kind: 'argv', command: 'sh', args: ['-c', script], cwd: '/workspace/work' } as const;
    const environment = { PATH: '/usr/bin:/bin' };
    const outputs = { stdout: keep, stderr: keep } as unknown as Outputs;
    const end = await init.run({ ...command, environment, environmentKeys: [], stdin: '' }, outputs);
    return { ...end, said: Buffer.concat(said).toString() };
  };
  return { subprocess, init, run };
}

test('of a folder that is hidden nothing is seen, wherever it lies', async () => {
  const { subprocess, run } = launch(['/usr/share', '/nowhere/at/all', folder]);
  try {
    const { said } = await run('ls -A /usr/share; touch /usr/share/x 2>/dev/null || echo refused; ls /');
    expect(said.split('\n')[0]).toBe('refused');
    for (const absent of ['root', 'run', 'sys', 'var', 'boot', 'mnt'])
      expect(said.split('\n')).not.toContain(absent);
  } finally {
    expect(await subprocess.end()).toBe(true);
  }
});

const beat = 'while :; do date +%N > beat; sleep 0.02; done';
const beatOf = () => readFile(join(folder, 'work/beat'), 'utf8').catch(() => '');
async function beats(): Promise<void> {
  while ((await beatOf()) === '') await pause(10);
}
async function nothingBeats(): Promise<void> {
  const before = await beatOf();
  await pause(200);
  expect(await beatOf()).toBe(before);
}

test.each([
  ['its launcher is killed', 0],
  ['its init is killed', 1],
])('when %s, nothing of it is left', async (_what, which) => {
  const { subprocess, init, run } = launch();
  await init.ready();
  const known = await subprocess.identify();
  expect(known).toHaveLength(2);
  const running = run(`setsid sh -c '${beat}' & ${beat}`).catch((error: unknown) => error);
  await beats();
  process.kill(known[which]?.pid ?? 0, 'SIGKILL');
  await subprocess.ended;
  expect(await running).toBeInstanceOf(Error);
  expect(await subprocess.end()).toBe(true);
  for (const one of known) expect(await isAlive(one)).toBe(false);
  await nothingBeats();
});

test('when nobody speaks to it any more, nothing of it is left', async () => {
  const { subprocess, run } = launch();
  const running = run(`setsid sh -c '${beat}' & ${beat}`).catch((error: unknown) => error);
  await beats();
  expect(await subprocess.end()).toBe(true);
  expect(await running).toBeInstanceOf(Error);
  await nothingBeats();
});

test('a program that is not there is told, not thrown', async () => {
  const at = folder as MountSource;
  const subprocess = new Subprocess({
    program: '/nowhere',
    owner: { uid: 1000, gid: 1000 },
    mounts: { inputs: at, work: at, artifacts: at },
    processes: 8,
    hidden: [],
  });
  expect(await subprocess.ended).toMatch(/ENOENT/);
  expect(await subprocess.identify()).toEqual([]);
  expect(await subprocess.end()).toBe(true);
});
