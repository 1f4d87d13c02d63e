import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { guardServices } from '../../docker/setup/apt.mjs';

const at = { folder: '', guard: '' };

beforeEach(async () => {
  at.folder = await mkdtemp(join(tmpdir(), 'guard-'));
  at.guard = join(at.folder, 'policy-rc.d');
});
afterEach(() => rm(at.folder, { recursive: true }));

/** Debian's word for "do not start it". */
const refused = 101;
const answer = () => spawnSync(at.guard, ['docker', 'start']).status;
const write = (code: number) => writeFile(at.guard, `#!/bin/sh\nexit ${code}\n`, { mode: 0o755 });

describe('while packages are installed no service starts', () => {
  test('where nothing says so: a guard stands there, and is gone afterwards', async () => {
    const restore = guardServices(at.folder);
    expect(answer()).toBe(refused);
    restore();
    expect(await readdir(at.folder)).toEqual([]);
  });

  test('where a guard refuses already: it is left alone', async () => {
    await write(refused);
    const before = await readFile(at.guard, 'utf8');
    const restore = guardServices(at.folder);
    expect(await readFile(at.guard, 'utf8')).toBe(before);
    restore();
    expect(await readFile(at.guard, 'utf8')).toBe(before);
  });

  test('where a guard allows it: it is set aside, and put back', async () => {
    await write(0);
    const restore = guardServices(at.folder);
    expect(answer()).toBe(refused);
    restore();
    expect(answer()).toBe(0);
    expect(await readdir(at.folder)).toEqual(['policy-rc.d']);
  });

  test('after an install that was killed: what was there before comes back', async () => {
    await write(0);
    guardServices(at.folder);
    const restore = guardServices(at.folder);
    expect(answer()).toBe(refused);
    restore();
    expect(answer()).toBe(0);
  });

  test('after an install that was killed where nothing was: nothing is left', () => {
    guardServices(at.folder);
    guardServices(at.folder)();
    expect(existsSync(at.guard)).toBe(false);
  });
});
