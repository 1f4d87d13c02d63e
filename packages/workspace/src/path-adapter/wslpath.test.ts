import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createPathAdapter } from './path-adapter.js';
import { wslpathOf } from './wslpath.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wslpath-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function program(script: string): Promise<string> {
  const path = join(folder, 'wslpath');
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

test('a root that is not set is asked for, argument by argument, and taken as it is answered', async () => {
  const wslpath = wslpathOf('wsl', [
    await program('printf "/drives/%s/%s\\n" "$1" "${2#??}" | tr "\\\\\\\\" /'),
  ]);
  const roots = { workspace_root_win: 'D:\\secbox $(id)\\w' };
  expect(createPathAdapter({ mode: 'wsl', roots, wslpath }).root.hostPathNative).toBe(
    '/drives/-u//secbox $(id)/w'.replace('//', '/'),
  );
});

test('where it is not at hand, drives are where they usually are', () => {
  const wslpath = wslpathOf('wsl', [join(folder, 'none')]);
  const roots = { workspace_root_win: 'D:\\secbox' };
  expect(createPathAdapter({ mode: 'wsl', roots, wslpath }).root.hostPathNative).toBe('/mnt/d/secbox');
});

test('what it cannot convert is a setting to mend', async () => {
  const wslpath = wslpathOf('wsl', [await program('exit 1')]);
  const roots = { workspace_root_win: 'D:\\secbox' };
  expect(() => createPathAdapter({ mode: 'wsl', roots, wslpath })).toThrow(
    /^sandbox\.workspace_root_wsl: .*wslpath could not convert/,
  );
});

test('on Linux nobody is asked', () => {
  expect(wslpathOf('linux')).toBeUndefined();
});
