import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { contentTag, readContext, readTarFile, writeTar } from '../../docker/setup/build-context.mjs';

const at = { folder: '' };

beforeEach(async () => {
  at.folder = await mkdtemp(join(tmpdir(), 'context-'));
  await mkdir(join(at.folder, 'init'));
  await writeFile(join(at.folder, 'Dockerfile'), 'FROM scratch\n');
  await writeFile(join(at.folder, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 });
  await writeFile(join(at.folder, 'init', 'init.c'), 'int main(void) { return 0; }\n');
});
afterEach(() => rm(at.folder, { recursive: true }));

const tag = (base = 'some:base') => contentTag(readContext(at.folder), base);

describe('the content tag', () => {
  test('has 12 hexadecimal digits and stays the same', () => {
    expect(tag()).toMatch(/^[0-9a-f]{12}$/);
    expect(tag()).toBe(tag());
  });

  test.each([
    ['a changed file', () => writeFile(join(at.folder, 'init', 'init.c'), 'int main(void) { return 1; }\n')],
    ['a new file', () => writeFile(join(at.folder, 'more'), '')],
    ['a removed file', () => rm(join(at.folder, 'run.sh'))],
    ['a renamed file', () => rename(join(at.folder, 'run.sh'), join(at.folder, 'go.sh'))],
    ['an executable bit', () => chmod(join(at.folder, 'run.sh'), 0o644)],
  ])('changes with %s', async (_, change) => {
    const before = tag();
    await change();
    expect(tag()).not.toBe(before);
  });

  test('changes with the base', () => {
    expect(tag('python:3.12-slim')).not.toBe(tag('debian:bookworm'));
  });

  test('does not run contents into names', async () => {
    await writeFile(join(at.folder, 'a'), 'bc');
    const before = tag();
    await rm(join(at.folder, 'a'));
    await writeFile(join(at.folder, 'ab'), 'c');
    expect(tag()).not.toBe(before);
  });

  test.each([
    ['a document', () => writeFile(join(at.folder, 'README.md'), 'words')],
    ['a hidden file', () => writeFile(join(at.folder, '.swp'), '')],
    ['a mode that git does not keep', () => chmod(join(at.folder, 'Dockerfile'), 0o600)],
    [
      'a time',
      async () => writeFile(join(at.folder, 'Dockerfile'), await readFile(join(at.folder, 'Dockerfile'))),
    ],
  ])('does not change with %s', async (_, change) => {
    const before = tag();
    await change();
    expect(tag()).toBe(before);
  });
});

describe('the tar archive', () => {
  const deep = `${'d'.repeat(90)}/${'e'.repeat(60)}`;

  test('is one that tar reads, with names, modes and bytes', async () => {
    const long = `${deep}/${'f'.repeat(99)}`;
    await mkdir(join(at.folder, deep), { recursive: true });
    await writeFile(join(at.folder, long), 'far down');
    await writeFile(join(at.folder, 'even'), Buffer.alloc(1024, 0xff));
    await writeFile(join(at.folder, 'empty'), '');
    await writeFile(join(at.folder, 'ünï'), 'x');
    const archive = writeTar(readContext(at.folder));

    const names = execFileSync('tar', ['--quoting-style=literal', '-tf', '-'], {
      input: archive,
      encoding: 'utf8',
    });
    expect(names.trim().split('\n').sort()).toEqual(
      ['Dockerfile', 'empty', 'even', 'init/init.c', long, 'run.sh', 'ünï'].sort(),
    );
    const out = await mkdtemp(join(tmpdir(), 'untar-'));
    try {
      execFileSync('tar', ['-xpf', '-', '-C', out], { input: archive });
      expect(await readFile(join(out, long), 'utf8')).toBe('far down');
      expect(await readFile(join(out, 'even'))).toEqual(Buffer.alloc(1024, 0xff));
      expect((await stat(join(out, 'run.sh'))).mode & 0o777).toBe(0o755);
      expect((await stat(join(out, 'Dockerfile'))).mode & 0o777).toBe(0o644);
    } finally {
      await rm(out, { recursive: true });
    }
  });

  test('a name that does not fit is an error, not another name', () => {
    const file = { name: 'n'.repeat(101), executable: false, content: Buffer.alloc(0) };
    expect(() => writeTar([file])).toThrow(/too long/);
  });

  test('the first file is read back, past what is none', () => {
    const archive = writeTar(readContext(at.folder));
    expect(readTarFile(archive).toString()).toBe('FROM scratch\n');
    const folder = Buffer.from(archive.subarray(0, 512));
    folder.write('5', 156);
    folder.write('00000000000', 124);
    expect(readTarFile(Buffer.concat([folder, archive])).toString()).toBe('FROM scratch\n');
  });

  test('half an archive, or one without a file, is an error', () => {
    const archive = writeTar(readContext(at.folder));
    for (const bytes of [
      Buffer.alloc(0),
      Buffer.alloc(1024),
      archive.subarray(0, 513),
      Buffer.alloc(512, 0xff),
    ])
      expect(() => readTarFile(bytes)).toThrow('archive');
  });
});
