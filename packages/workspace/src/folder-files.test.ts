import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { SecboxError } from '@secbox/contracts';
import { FolderFiles } from './folder-files.js';

let above: string;
let folder: string;
let files: FolderFiles;
beforeEach(async () => {
  above = await mkdtemp(join(tmpdir(), 'secbox-folder-'));
  folder = join(above, 'inside');
  await mkdir(folder);
  await writeFile(join(above, 'outside'), 'secret');
  files = new FolderFiles({ folder });
});
afterEach(() => rm(above, { recursive: true }));

const code = (wanted: string) => expect.objectContaining({ code: wanted });
const put = (path: string, text: string, more = {}) =>
  files.write(path, [Buffer.from(text)], { mostBytes: 1000, ...more });

const swapping = `
  const { renameSync, rmSync, symlinkSync } = require('node:fs');
  const { folder, times } = require('node:worker_threads').workerData;
  for (let n = 0; n < times; n += 1) {
    symlinkSync('../away', folder + '/link');
    renameSync(folder + '/d', folder + '/e');
    // Whoever writes may have made the folder anew.
    try { renameSync(folder + '/link', folder + '/d'); } catch {}
    for (let done = false; !done;) {
      try {
        rmSync(folder + '/d', { recursive: true, force: true });
        renameSync(folder + '/e', folder + '/d');
        done = true;
      } catch {}
    }
    rmSync(folder + '/link', { force: true });
  }
`;

describe('files of a folder that programs write', () => {
  test('are written with their folders, read, listed in pages, moved and deleted', async () => {
    expect(await put('b/c.txt', 'one\ntwo\n')).toMatchObject({ path: 'b/c.txt', bytes: 8, created: true });
    expect(await put('a', 'x', { executable: true })).toMatchObject({ created: true });
    expect((await files.readText('b/c.txt')).text).toBe('one\ntwo\n');
    expect((await files.readLines('b/c.txt', { start: 2, end: 2 })).lines).toEqual(['two']);
    expect(await files.list({ limit: 10 })).toEqual({
      files: [
        { path: 'a', bytes: 1, executable: true },
        { path: 'b/c.txt', bytes: 8, executable: false },
      ],
      more: false,
    });
    expect(await files.list({ limit: 1 })).toMatchObject({ files: [{ path: 'a' }], more: true });
    expect(await files.list({ limit: 1, after: 'a' })).toMatchObject({
      files: [{ path: 'b/c.txt' }],
      more: false,
    });
    await files.move('b', 'd/e');
    expect((await files.search({ text: 'two' })).matches).toEqual([
      { path: 'd/e/c.txt', line: 2, text: 'two' },
    ]);
    await files.delete('d');
    await expect(files.readText('d/e/c.txt')).rejects.toEqual(code('file_not_found'));
    expect(await readdir(folder)).toEqual(['a']);
  });

  test('are edited by lines, keep their mode, and come to be', async () => {
    await put('run', 'one\ntwo\n', { executable: true });
    await files.edit('run', 'TWO', { start: 2, end: 2 });
    expect(await readFile(join(folder, 'run'), 'utf8')).toBe('one\nTWO\n');
    expect((await files.stat('run')).executable).toBe(true);
    await files.edit('new/one', 'text', { start: 1 });
    expect((await files.readText('new/one')).text).toBe('text');
  });

  test('are changed only if they are what the change begins from', async () => {
    const { etag } = await put('f', 'one');
    expect((await files.stat('f')).etag).toBe(etag);
    await files.edit('f', 'two', { ifMatch: etag });
    await expect(files.edit('f', 'three', { ifMatch: etag })).rejects.toEqual(code('file_changed'));
    await expect(files.delete('f', { ifMatch: etag })).rejects.toEqual(code('file_changed'));
    await expect(files.move('f', 'g', { ifMatch: etag })).rejects.toEqual(code('file_changed'));
    await expect(put('f', 'x', { ifAbsent: true })).rejects.toEqual(code('file_changed'));
    await expect(put('none', 'x', { ifMatch: '*' })).rejects.toEqual(code('file_changed'));
    expect((await files.readText('f')).text).toBe('two');
  });

  test('that have to be there already, and are not, leave no folders behind', async () => {
    await put('there/f', 'x');
    for (const ifMatch of ['*', 'x']) {
      await expect(put('a/b/none', 'x', { ifMatch })).rejects.toMatchObject({
        code: 'file_changed',
        details: { path: 'a/b/none', etag: null },
      });
      await expect(files.edit('there/c/none', 'x', { ifMatch })).rejects.toEqual(code('file_changed'));
    }
    expect(await readdir(folder, { recursive: true })).toEqual(['there', 'there/f']);
  });

  test('that are not for callers are not told of by their hash either, whatever a change takes for granted', async () => {
    await put('secret', 'canary');
    const secretive = new FolderFiles({
      folder,
      checkReadable: () => {
        throw new SecboxError('file_secret', 'It is secret.');
      },
    });
    const conditions = [{ ifMatch: 'x' }, { ifMatch: '*', ifAbsent: true }];
    for (const condition of conditions) {
      const replace = () => secretive.write('secret', [], { mostBytes: 1, ...condition });
      const remove = () => secretive.delete('secret', condition);
      const move = () => secretive.move('secret', 'elsewhere', condition);
      for (const change of [replace, remove, move])
        await expect(change()).rejects.toEqual(code('file_secret'));
    }
    expect(await readdir(folder)).toEqual(['secret']);
    await secretive.delete('secret', { ifMatch: '*' });
  });

  test('that are being written are told to nobody, and what was left of one goes with the next change', async () => {
    const aside = '.secbox-change';
    const pieces = async function* () {
      yield Buffer.from('half');
      expect((await files.list({ limit: 10 })).files).toEqual([]);
      expect((await files.search({ text: 'half' })).matches).toEqual([]);
      await expect(files.readText(aside)).rejects.toEqual(code('invalid_path'));
      expect((await readdir(folder)).sort()).toEqual([aside, 'a']);
      yield Buffer.from(' of it');
    };
    await files.write('a/f', pieces(), { mostBytes: 100 });
    expect((await files.readText('a/f')).text).toBe('half of it');
    const changes = [() => put('a/g', 'x'), () => files.move('a/g', 'b'), () => files.delete('b')];
    for (const change of changes) {
      await writeFile(join(folder, aside), 'left by a server that was killed');
      await change();
      expect(await readdir(folder)).not.toContain(aside);
    }
    await put(`a/${aside}`, 'not in the way');
    expect((await files.list({ limit: 10 })).files).toHaveLength(2);
    for (const path of [aside, `${aside}/f`]) await expect(async () => put(path, 'x')).rejects.toThrow(/own/);
  });

  test("that are named as what is laid aside are callers' own where nothing is written", async () => {
    const own = '.secbox-change';
    await writeFile(join(folder, own), 'kept');
    await writeFile(join(folder, 'a'), '');
    const unwritten = new FolderFiles({ folder, writes: false });
    await unwritten.move('a', 'b');
    await unwritten.delete('b');
    expect((await unwritten.list({ limit: 10 })).files).toMatchObject([{ path: own }]);
    expect((await unwritten.readText(own)).text).toBe('kept');
    await unwritten.delete(own);
    expect(await readdir(folder)).toEqual([]);
  });

  test('that are links, as leaf or on the way, are refused, and nothing is made outside (cases 3, 4)', async () => {
    await symlink('../outside', join(folder, 'leaf'));
    await symlink('..', join(folder, 'up'));
    await symlink('../nowhere', join(folder, 'dangling'));
    for (const path of ['leaf', 'up/outside', 'dangling']) {
      await expect(files.readText(path)).rejects.toEqual(code('invalid_path'));
      await expect(put(path, 'x')).rejects.toEqual(code('invalid_path'));
      await expect(files.edit(path, 'x', { start: 1 })).rejects.toEqual(code('invalid_path'));
      await expect(files.stat(path)).rejects.toEqual(code('invalid_path'));
    }
    await expect(put('up/new', 'x')).rejects.toEqual(code('invalid_path'));
    await expect(files.move('leaf', 'other')).rejects.toEqual(code('invalid_path'));
    await expect(files.delete('up/outside')).rejects.toEqual(code('invalid_path'));
    expect((await files.list({ limit: 10 })).files).toEqual([]);
    expect((await readdir(above)).sort()).toEqual(['inside', 'outside']);
    await files.delete('leaf');
    expect(await readFile(join(above, 'outside'), 'utf8')).toBe('secret');
  });

  test('that are pipes or folders are refused at once (case 6)', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    await mkdir(join(folder, 'sub'));
    await expect(files.readText('pipe')).rejects.toEqual(code('invalid_path'));
    await expect(put('pipe', 'x')).rejects.toEqual(code('invalid_path'));
    await expect(files.readText('sub')).rejects.toEqual(code('invalid_path'));
    await expect(put('sub', 'x')).rejects.toEqual(code('file_in_the_way'));
    await put('f', 'x');
    await expect(put('f/g', 'x')).rejects.toEqual(code('invalid_path'));
    await expect(files.move('sub', 'f')).rejects.toEqual(code('file_in_the_way'));
    expect(() => files.move('sub', 'sub/in')).toThrow(/into itself/);
  });

  test('that are large are told without being read, and not read whole (case 8)', async () => {
    await writeFile(join(folder, 'huge'), 'first\nsecond\n');
    await truncate(join(folder, 'huge'), 5 * 1024 ** 3);
    expect(await files.stat('huge')).toMatchObject({ bytes: 5 * 1024 ** 3 });
    await expect(files.readText('huge')).rejects.toEqual(code('file_too_large'));
    expect((await files.readLines('huge', { start: 2, end: 2 })).lines).toEqual(['second']);
    await expect(put('f', 'x'.repeat(1001))).rejects.toEqual(code('file_too_large'));
    expect(await readdir(folder)).toEqual(['huge']);
  });

  test('whose names nobody could ask for are not listed, nor those of a folder that cannot be read', async () => {
    await writeFile(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff, 0x41])]), '');
    await writeFile(join(folder, 'new\nline'), '');
    await writeFile(join(folder, 'back\\slash'), '');
    await put('closed/f', 'x');
    await chmod(join(folder, 'closed'), 0);
    const listed = (await files.list({ limit: 10 })).files.map(({ path }) => path);
    expect(listed.filter((path) => path !== 'closed/f')).toEqual([]);
    await chmod(join(folder, 'closed'), 0o755);
  });

  test('may be swapped for links all the time: never a byte from outside (case 5)', async () => {
    await mkdir(join(above, 'away'));
    await writeFile(join(above, 'away', 'f'), 'secret');
    await put('d/f', 'mine');
    const worker = new Worker(swapping, { eval: true, workerData: { folder, times: 10_000 } });
    const state = { over: false };
    const swapped = once(worker, 'exit').finally(() => (state.over = true));
    const seen = new Set<string>();
    while (!state.over) {
      const read = await files
        .readText('d/f')
        .catch((error: unknown) => ({ text: (error as { code: string }).code }));
      seen.add(read.text);
      await put('d/g', 'mine too').catch(() => undefined);
    }
    await swapped;
    expect([...seen].filter((text) => !['mine', 'file_not_found', 'invalid_path'].includes(text))).toEqual(
      [],
    );
    expect(await readdir(join(above, 'away'))).toEqual(['f']);
  });
});
