import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import {
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Trash } from './trash.js';

let temporary: string;
let folder: string;
let trash: Trash;
const inTrash = () => readdir(join(temporary, 'trash'));
beforeEach(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'secbox-trash-'));
  folder = join(temporary, 'folder');
  await mkdir(join(temporary, 'trash'));
  await mkdir(folder);
  trash = new Trash(join(temporary, 'trash'));
});
afterEach(() => rm(temporary, { recursive: true, force: true }));

async function left(): Promise<string[]> {
  const entries = [];
  for await (const entry of trash.left()) entries.push(entry);
  return entries;
}

function take(name: string) {
  const entry = trash.take(folder, name);
  if (!entry) throw new Error('nothing was taken');
  return entry;
}

test('what is not there is not taken', async () => {
  expect(trash.take(folder, 'x')).toBeUndefined();
  expect(trash.take(join(folder, 'none'), 'x')).toBeUndefined();
  expect(await left()).toEqual([]);
});

test('what is taken is gone from its place at once, and is its taker’s to empty', async () => {
  await mkdir(join(folder, 'x/deep'), { recursive: true });
  await writeFile(join(folder, 'x/deep/file'), 'x');
  const entry = take('x');
  expect(await readdir(folder)).toEqual([]);
  expect(await left()).toEqual([]);
  const tally = { files: 0, bytes: 0 };
  expect(await trash.empty(entry, tally)).toBe(true);
  expect([await inTrash(), tally.files]).toEqual([[], 1]);
});

test('what was left is found by the next, once', async () => {
  await mkdir(join(folder, 'x'));
  await writeFile(join(folder, 'y'), '');
  trash.leave(take('x'));
  take('y');
  const another = new Trash(join(temporary, 'trash'));
  expect(await left()).toHaveLength(1);
  expect(await left()).toEqual([]);
  const found = [];
  for await (const entry of another.left()) found.push(entry);
  expect(found).toHaveLength(2);
  for (const entry of found) await another.empty(entry, { files: 0, bytes: 0 });
  expect(await inTrash()).toEqual([]);
});

test('a tree is emptied in pieces when it is stopped', async () => {
  await mkdir(join(folder, 'x'));
  for (let n = 0; n < 1000; n += 1) await writeFile(join(folder, 'x', String(n)), '');
  const tally = { files: 0, bytes: 0 };
  const stop = new AbortController();
  const entry = take('x');
  const stopped = trash.empty(entry, tally, stop.signal);
  stop.abort();
  expect(await stopped).toBe(false);
  expect(tally.files).toBeLessThan(1000);
  const [again] = await left();
  expect(again).toBe(entry);
  expect(await trash.empty(entry, tally)).toBe(true);
  expect([tally.files, await inTrash()]).toEqual([1000, []]);
});

test('hostile trees go without anything outside of them: links, mode 000, deep and wide', async () => {
  const outside = join(temporary, 'outside');
  await mkdir(outside);
  await writeFile(join(outside, 'kept'), 'kept');
  execFileSync(
    '/usr/bin/python3',
    [
      '-c',
      `
import os
os.mkdir('x'); os.chdir('x')
os.symlink('${outside}', 'to-folder'); os.symlink('${outside}/kept', 'to-file'); os.symlink('nowhere', 'dangling')
os.symlink('.', 'loop'); os.mkfifo('fifo'); open(b'\\xff\\n', 'w').close()
os.mkdir('locked'); open('locked/file', 'w').close(); os.chmod('locked', 0)
os.mkdir('wide')
for n in range(3000): open(f'wide/{n}', 'w').close()
for n in range(2500):
    os.mkdir('d'); os.chdir('d')
open('bottom', 'w').close()
`,
    ],
    { cwd: folder },
  );
  const tally = { files: 0, bytes: 0 };
  expect(await trash.empty(take('x'), tally)).toBe(true);
  expect(await inTrash()).toEqual([]);
  expect(await readFile(join(outside, 'kept'), 'utf8')).toBe('kept');
  expect(tally.files).toBe(6 + 1 + 3000 + 1);
});

test('a link in a folder’s place is itself what is removed', async () => {
  const outside = join(temporary, 'outside');
  await mkdir(outside);
  await symlink(outside, join(folder, 'x'));
  await trash.empty(take('x'), { files: 0, bytes: 0 });
  expect((await lstat(outside)).isDirectory()).toBe(true);
  await symlink(outside, join(temporary, 'linked'));
  await writeFile(join(outside, 'y'), '');
  expect(() => trash.take(join(temporary, 'linked'), 'y')).toThrow(
    expect.objectContaining({
      code: expect.stringMatching(/ENOTDIR|ELOOP/),
    }),
  );
  expect(await readdir(outside)).toEqual(['y']);
});

test('the space of a file counts with its last name', async () => {
  await mkdir(join(folder, 'x'));
  const size = 100_000;
  for (const name of ['one', 'kept']) await writeFile(join(folder, 'x', name), Buffer.alloc(size, 1));
  const { blocks } = await stat(join(folder, 'x/one'));
  await link(join(folder, 'x/one'), join(folder, 'x/two'));
  await link(join(folder, 'x/kept'), join(temporary, 'elsewhere'));
  const tally = { files: 0, bytes: 0 };
  await trash.empty(take('x'), tally);
  expect(tally).toEqual({ files: 3, bytes: blocks * 512 });
});
