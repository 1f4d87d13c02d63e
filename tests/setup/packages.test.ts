import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { isInstalled, obtainPackages, wantedStamp } from '../../docker/setup/packages.mjs';
import { createPnpmReader } from '../../docker/setup/pnpm-output.mjs';

const at = { root: '' };

beforeEach(async () => {
  at.root = await mkdtemp(join(tmpdir(), 'packages-'));
  await writeFile(
    join(at.root, 'package.json'),
    JSON.stringify({ packageManager: 'pnpm@10.1.2+sha512.abc' }),
  );
  await writeFile(join(at.root, 'pnpm-lock.yaml'), 'lockfileVersion: 9\n');
});
afterEach(() => rm(at.root, { recursive: true }));

async function stamp(text: string): Promise<void> {
  await mkdir(join(at.root, 'node_modules'), { recursive: true });
  await writeFile(join(at.root, 'node_modules', '.secbox-installed.json'), text);
}

const run = () =>
  obtainPackages({
    root: at.root,
    env: { PATH: '/nowhere' },
    signal: new AbortController().signal,
    say: () => undefined,
  });

describe('the stamp', () => {
  test('an empty folder has nothing installed', () => {
    expect(isInstalled(at.root)).toBe(false);
  });

  test('says installed, and then nothing is run', async () => {
    await stamp(wantedStamp(at.root));
    expect(isInstalled(at.root)).toBe(true);
    expect(await run()).toEqual({ installed: false });
  });

  test.each([
    ['the lockfile changes', () => writeFile(join(at.root, 'pnpm-lock.yaml'), 'lockfileVersion: 10\n')],
    [
      'another pnpm is wanted',
      () => writeFile(join(at.root, 'package.json'), JSON.stringify({ packageManager: 'pnpm@10.1.3' })),
    ],
    [
      'another Node made it',
      () => stamp(wantedStamp(at.root).replace(`"abi":"${process.versions.modules}"`, '"abi":"1"')),
    ],
    ['it was cut short', () => stamp(wantedStamp(at.root).slice(0, 20))],
    ['node_modules is removed', () => rm(join(at.root, 'node_modules'), { recursive: true })],
  ])('no longer holds when %s', async (_, change) => {
    await stamp(wantedStamp(at.root));
    await change();
    expect(isInstalled(at.root)).toBe(false);
  });
});

describe('an install', () => {
  /** An npx that prints and ends as it is told, and notes how it was called. */
  async function install(script: string): Promise<unknown> {
    const bin = join(at.root, 'bin');
    await mkdir(bin);
    await writeFile(join(bin, 'npx'), `#!/bin/sh\necho "$@" >> "${at.root}/calls"\n${script}\n`, {
      mode: 0o755,
    });
    await mkdir(join(at.root, 'node_modules'));
    return obtainPackages({
      root: at.root,
      env: { PATH: bin },
      signal: new AbortController().signal,
      say: () => undefined,
    });
  }
  const calls = () => readFile(join(at.root, 'calls'), 'utf8');

  test('asks for the very pnpm of packageManager and the frozen lockfile, and then is stamped', async () => {
    expect(await install('exit 0')).toEqual({ installed: true });
    expect(await calls()).toBe('--yes pnpm@10.1.2 install --frozen-lockfile --reporter=ndjson\n');
    expect(isInstalled(at.root)).toBe(true);
  });

  test('that fails shows why and leaves no stamp', async () => {
    const event = '{"level":"error","err":{"message":"ERR_PNPM_OUTDATED_LOCKFILE"}}';
    await expect(install(`echo '${event}'; exit 1`)).rejects.toMatchObject({
      message: 'The packages could not be installed.',
      details: 'ERR_PNPM_OUTDATED_LOCKFILE',
    });
    expect(isInstalled(at.root)).toBe(false);
  });
});

describe("pnpm's output", () => {
  const read = (...events: readonly (object | string)[]) => {
    const said: string[] = [];
    const reader = createPnpmReader((doing) => said.push(doing));
    for (const event of events) reader.read(typeof event === 'string' ? event : JSON.stringify(event));
    return { said, reader };
  };

  test('counts packages', () => {
    const { said } = read(
      { name: 'pnpm:stats', added: 2 },
      { name: 'pnpm:progress', status: 'resolved' },
      { name: 'pnpm:progress', status: 'imported' },
      { name: 'pnpm:progress', status: 'imported' },
    );
    expect(said).toEqual(['installing packages: 1 of 2', 'installing packages: 2 of 2']);
  });

  test('names the package whose build failed, and keeps what it printed', () => {
    const depPath = '/r/node_modules/.pnpm/better-sqlite3@12.0.0/node_modules/better-sqlite3';
    const { said, reader } = read(
      { name: 'pnpm:lifecycle', depPath, line: '  CC(target) Release/obj.target/sqlite3/gen/sqlite3.o' },
      { name: 'pnpm:lifecycle', depPath, line: 'make: g++: No such file or directory' },
      { name: 'pnpm:lifecycle', depPath, exitCode: 1 },
      { level: 'error', name: 'pnpm', err: { message: 'Exit status 1' } },
    );
    expect(said[0]).toBe('building better-sqlite3: compiling sqlite3');
    expect(reader.unbuilt()).toBe('better-sqlite3');
    expect(reader.messages()).toEqual(
      expect.arrayContaining(['make: g++: No such file or directory', 'Exit status 1']),
    );
  });

  test('a good build is no failure, and plain words are kept', () => {
    const { reader } = read({ name: 'pnpm:lifecycle', depPath: 'a@1', exitCode: 0 }, 'npm error network');
    expect(reader.unbuilt()).toBeUndefined();
    expect(reader.messages()).toEqual(['npm error network']);
  });
});
