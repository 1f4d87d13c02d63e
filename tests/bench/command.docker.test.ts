import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtemp, readFile, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mountsBelow } from '../../docker/setup/unmount.mjs';
import type { Result } from '../../bench/speed/figures.mjs';
import { startProcess, type ServerProcess } from '../lifecycle/server-process.js';

let folder: string;
let bench: ServerProcess | undefined;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'secbox-bench-test-')));
  bench = undefined;
});
afterEach(async () => {
  if (bench?.child.exitCode === null) await bench.end('SIGTERM');
  await rm(folder, { recursive: true, force: true });
});

/** With a folder for temporary files of its own, in which it leaves nothing. */
function start(...args: readonly string[]): ServerProcess {
  bench = startProcess(process.execPath, ['bench/speed/command.mjs', ...args], {
    SECBOX_DATA_DIR: join(folder, 'data'),
    SECBOX_POOL_SIZE: '2',
    TMPDIR: folder,
  });
  return bench;
}

describe('npm run bench', () => {
  test('measures every section, tells of each target, and leaves nothing behind', async () => {
    const out = join(folder, 'results', 'out.json');
    const run = start('--runs', '1', '--seconds', '2', '--no-install', '--out', out);
    expect(await run.ended).toEqual({ code: 0, signal: null });
    const { results, verdicts, failures } = JSON.parse(await readFile(out, 'utf8')) as {
      readonly results: readonly Result[];
      readonly verdicts: readonly { readonly target: string }[];
      readonly failures: readonly string[];
    };
    expect(failures).toEqual([]);
    const contestants = new Set(results.map(({ section, contestant }) => `${section}: ${contestant}`));
    expect([...contestants]).toEqual(
      expect.arrayContaining([
        ...['others: warm', 'others: docker run', 'others: docker exec', 'others: bare host', 'others: cold'],
        ...['gaps: warm', 'gaps: cold', 'projects: new project', 'projects: idle project'],
        ...['sustained: API, 8 at once', 'sustained: engine alone, 8 at once'],
      ]),
    );
    expect(results.filter(({ n, p50 }) => n < 1 || !(p50 > 0))).toEqual([]);
    expect(verdicts).toHaveLength(10);
    expect(run.printed().match(/^\| (?!-)/gm)).toHaveLength(results.length + 1);
    expect(run.printed().match(/^(met {3}|MISSED) /gm)).toHaveLength(10);
    expect(run.printed()).toContain('testcontainers was left out: it is not installed, and is not to be.');
    expect((await readdir(folder)).filter((name) => name.startsWith('secbox-bench-'))).toEqual([]);
    expect(mountsBelow(folder)).toEqual([]);
  }, 300_000);

  test.each([
    [['--only', 'gaps,none'], /--only takes others, gaps, projects, sustained .*not none\./],
    [['--runs', '0'], /--runs takes a whole number from 1 on, not 0\./],
    [['--fast'], /Unknown option '--fast'/],
  ])('%j is refused before anything starts', async (args, told) => {
    const run = start(...args);
    expect((await run.ended).code).toBe(1);
    expect(run.printed()).toMatch(told);
    expect(run.printed()).not.toMatch(/^\s+at /m);
    expect(await readdir(folder)).toEqual([]);
  });
});
