import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readdirSync, readlinkSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ContentHashes } from './content-hashes.js';
import { ContentStore } from './content-store.js';
import { Directory } from './directory.js';
import { parseRelativePath } from './relative-path.js';
import { type InputFile, ProjectInputs, refuseOverlaps } from './project-inputs.js';

jest.setTimeout(60_000);

const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');

const input = (path: string, content: string | Buffer = path): InputFile => ({
  path: parseRelativePath(path, 'path'),
  size: Buffer.byteLength(content),
  sha256: sha256(content),
  content: Buffer.from(content),
  secret: false,
});

describe('the inputs of a project', () => {
  let temporary: string;
  let inputs: Directory;
  let staging: Directory;
  let hashes: ContentHashes;
  let contents: ContentStore;
  let projectInputs: ProjectInputs;
  const write = (files: readonly InputFile[]) => projectInputs.write(files, staging);
  const at = (path: string) => join(temporary, path);

  beforeEach(async () => {
    temporary = await mkdtemp(join(tmpdir(), 'secbox-inputs-'));
    await mkdir(at('inputs'));
    await mkdir(at('staging'));
    await mkdir(at('outside'));
    await mkdir(at('contents'));
    hashes = new ContentHashes();
    contents = new ContentStore(at('contents'));
    projectInputs = new ProjectInputs({ folder: at('inputs'), contents, hashes });
    inputs = Directory.open(at('inputs'));
    staging = Directory.open(at('staging'));
  });

  afterEach(async () => {
    const [staged, outside] = [await readdir(at('staging')), await readdir(at('outside'))];
    inputs.close();
    staging.close();
    await rm(temporary, { recursive: true });
    // Whatever came of the inputs, nothing waits in the staging folder and nothing is held open.
    expect({ staged, outside, open: openBelow(temporary) }).toEqual({
      staged: [],
      outside: [],
      open: [],
    });
  });

  test('puts each in its place with exact bytes, and tells its length and hash', async () => {
    const binary = Buffer.from([0, 255, 10, 13, 128]);
    await write([input('main.py', 'print(1)\n'), input('data/数据/b.bin', binary), input('data/-rf', '')]);
    expect(await readFile(at('inputs/main.py'), 'utf8')).toBe('print(1)\n');
    expect(await readFile(at('inputs/data/数据/b.bin'))).toEqual(binary);
    expect(await readFile(at('inputs/data/-rf'), 'utf8')).toBe('');
    expect(await projectInputs.list()).toEqual([
      { path: 'data/-rf', size: 0, sha256: sha256('') },
      { path: 'data/数据/b.bin', size: 5, sha256: sha256(binary) },
      { path: 'main.py', size: 9, sha256: sha256('print(1)\n') },
    ]);
  });

  test('tells of a secret one nothing but where it is', async () => {
    await write([{ ...input('key.pem', 'secret'), secret: true }]);
    expect(await projectInputs.list()).toEqual([{ path: 'key.pem', secret: true }]);
    expect(await readFile(at('inputs/key.pem'), 'utf8')).toBe('secret');
    expect(await readdir(at('contents'))).toEqual([]);
    // The same for whoever comes later, after a restart too.
    const later = new ProjectInputs({ folder: at('inputs'), contents, hashes: new ContentHashes() });
    expect(await later.list()).toEqual([{ path: 'key.pem', secret: true }]);
  });

  test('the same content can become a secret, and stop being one', async () => {
    const secret = { ...input('file', 'content'), secret: true };
    await write([input('file', 'content')]);
    // Whoever runs meanwhile would have its evidence changed.
    expect(await projectInputs.wouldChange([secret])).toBe(true);
    await write([secret]);
    expect(await projectInputs.list()).toEqual([{ path: 'file', secret: true }]);
    await write([input('file', 'content')]);
    expect(await projectInputs.list()).toMatchObject([{ path: 'file', sha256: sha256('content') }]);
  });

  test('a secret is never taken from a file in the clear', async () => {
    const staged = { ...input('file', 'content'), secret: true, content: { staged: 'input-0' } };
    await expect(write([staged])).rejects.toThrow('never staged in the clear');
  });

  test('keeps every content that an input ever had, once', async () => {
    await write([input('a', 'one'), input('b', 'one'), input('c', 'two')]);
    await write([input('a', 'three')]);
    for (const content of ['one', 'two', 'three']) {
      const kept = contents.open(sha256(content));
      expect((await kept.readAll()).toString('utf8')).toBe(content);
      kept.close();
    }
    const [a, b, kept] = await Promise.all(
      ['inputs/b', 'inputs/c', `contents/${sha256('one').slice(0, 2)}/${sha256('one')}`].map((path) =>
        stat(at(path)),
      ),
    );
    expect([a?.ino, a?.nlink]).toEqual([kept?.ino, 2]);
    expect(b?.ino).not.toBe(kept?.ino);
    expect(() => contents.open(sha256('never'))).toThrow(expect.objectContaining({ code: 'ENOENT' }));
  });

  test('takes over a staged file, and finds it again when it is done twice', async () => {
    await writeFile(at('staging/input-0'), 'large');
    const file = { ...input('file', 'large'), content: { staged: 'input-0' } };
    await write([file]);
    expect(await readdir(at('staging'))).toEqual([]);
    await rm(at('inputs/file'));
    await write([file]);
    expect(await readFile(at('inputs/file'), 'utf8')).toBe('large');
  });

  test('a content that was damaged is not taken for the one it was', async () => {
    await write([input('a', 'content')]);
    await writeFile(at('inputs/a'), 'cut');
    await write([input('b', 'content')]);
    expect(await readFile(at('inputs/b'), 'utf8')).toBe('content');
    await writeFile(at('staging/input-0'), 'ano');
    const staged = { ...input('c', 'another'), content: { staged: 'input-0' } };
    await expect(write([staged])).rejects.toThrow('not what was received');
    await rm(at('staging/input-0'));
  });

  test('a request that is refused has changed nothing', async () => {
    await write([input('a', 'old'), input('dir/file')]);
    await expect(write([input('a', 'new'), input('dir')])).rejects.toMatchObject({ code: 'invalid_path' });
    const deep = Array.from({ length: 400 }, (_, n) => input(`${n}/${'d/'.repeat(30)}f`));
    await expect(write([input('a', 'new'), ...deep])).rejects.toMatchObject({ code: 'too_many_inputs' });
    expect(await readFile(at('inputs/a'), 'utf8')).toBe('old');
    expect(await projectInputs.list()).toHaveLength(2);
  });

  test('lists what somebody else put there, by kind where it is no file, and follows nothing', async () => {
    await write([input('ours')]);
    await writeFile(at('inputs/theirs'), 'theirs');
    await symlink(at('outside'), at('inputs/link'));
    await mkdir(at('inputs/empty'));
    await writeFile(Buffer.concat([Buffer.from(at('inputs/')), Buffer.from([0xff])]), '');
    expect(await projectInputs.list()).toEqual([
      { path: 'link', kind: 'symlink' },
      { path: 'ours', size: 4, sha256: sha256('ours') },
      { path: 'theirs', size: 6, sha256: sha256('theirs') },
      { path: '\ufffd', path_base64: '/w==', size: 0, sha256: sha256('') },
    ]);
    await writeFile(at('inputs/theirs'), 'edited in place');
    expect(await projectInputs.list()).toContainEqual({
      path: 'theirs',
      size: 15,
      sha256: sha256('edited in place'),
    });
  });

  test('refuses to list more than it is told to', async () => {
    await write([input('a/1'), input('a/2'), input('b')]);
    await expect(projectInputs.list(3)).rejects.toMatchObject({ code: 'too_many_inputs' });
    expect(await projectInputs.list(4)).toHaveLength(3);
  });

  test('knows what would change, which the same again and something new do not', async () => {
    await write([input('data/file', 'content')]);
    await symlink(at('outside'), at('inputs/link'));
    const change = (...files: InputFile[]) => projectInputs.wouldChange(files);
    expect(await change(input('data/file', 'content'), input('new'), input('other/new'))).toBe(false);
    expect(await change(input('new'), input('data/file', 'CONTENT'))).toBe(true);
    expect(await change(input('data/file', 'longer content'))).toBe(true);
    for (const path of ['data', 'data/file/below', 'link', 'link/file']) {
      expect(await change(input(path))).toBe(true);
    }
  });

  test('leaves a file alone that is the same already', async () => {
    await write([input('file', 'content')]);
    const before = await stat(at('inputs/file'));
    await write([input('file', 'content')]);
    expect((await stat(at('inputs/file'))).ino).toBe(before.ino);
  });

  test('makes them readable for the sandbox whatever the umask', async () => {
    const before = process.umask(0o077);
    try {
      await write([input('data/file')]);
    } finally {
      process.umask(before);
    }
    expect((await stat(at('inputs/data'))).mode & 0o777).toBe(0o755);
    expect((await stat(at('inputs/data/file'))).mode & 0o777).toBe(0o644);
  });

  test('leaves the other inputs of the project alone', async () => {
    await write([input('data/old'), input('changed', 'before')]);
    await write([input('data/new'), input('changed', 'after')]);
    expect(await readFile(at('inputs/data/old'), 'utf8')).toBe('data/old');
    expect(await readFile(at('inputs/changed'), 'utf8')).toBe('after');
  });

  test('a reader sees the old file or the new one, whole, however often it is replaced (case 9)', async () => {
    const letters = 'abcdefghij';
    const whole = letters.split('').map((letter) => letter.repeat(300_000));
    await write([input('file', whole[0] ?? '')]);
    const progress = { done: false };
    const replaceAll = async () => {
      for (let round = 0; round < 5; round += 1) {
        for (const content of whole) await write([input('file', content)]);
      }
    };
    const replaced = replaceAll().finally(() => (progress.done = true));
    const torn: number[] = [];
    while (!progress.done) {
      const seen = await readFile(at('inputs/file'), 'utf8');
      if (!whole.includes(seen)) torn.push(seen.length);
    }
    await replaced;
    expect(torn).toEqual([]);
  });

  test('whoever had the old file open still reads the old one', async () => {
    await write([input('file', 'old')]);
    const old = inputs.openFile('file');
    try {
      await write([input('file', 'newer')]);
      expect((await old.readAll()).toString('utf8')).toBe('old');
    } finally {
      old.close();
    }
  });

  describe('in conflict with what is there', () => {
    const refused = (path: string) => ({ code: 'invalid_path', details: { path } });

    test('a file where a folder is', async () => {
      await write([input('data/file')]);
      await expect(write([input('data')])).rejects.toMatchObject(refused('data'));
      await mkdir(at('inputs/empty'));
      await expect(write([input('empty')])).rejects.toMatchObject(refused('empty'));
      expect(await readFile(at('inputs/data/file'), 'utf8')).toBe('data/file');
    });

    test('a folder where a file is, at any depth', async () => {
      await write([input('a/b', 'file')]);
      for (const path of ['a/b/c', 'a/b/c/d']) {
        await expect(write([input(path)])).rejects.toMatchObject(refused(path));
      }
      expect(await readFile(at('inputs/a/b'), 'utf8')).toBe('file');
    });

    test('what came before the conflict stays, and the same request can be sent again', async () => {
      const files = [input('first'), input('blocked/file')];
      await writeFile(at('inputs/blocked'), '');
      for (let attempt = 0; attempt < 2; attempt += 1) {
        await expect(write(files)).rejects.toMatchObject(refused('blocked/file'));
      }
      await rm(at('inputs/blocked'));
      await write(files);
      expect(await readFile(at('inputs/blocked/file'), 'utf8')).toBe('blocked/file');
    });
  });

  describe('where a link is in the way (cases 3 and 4)', () => {
    test('as a folder: refused, nothing is made where it points', async () => {
      await symlink(at('outside'), at('inputs/link'));
      await symlink(at('outside/dangling'), at('inputs/dangling'));
      for (const path of ['link/file', 'link/deep/file', 'dangling/file']) {
        await expect(write([input(path)])).rejects.toMatchObject({
          code: 'invalid_path',
        });
      }
    });

    test('as the file itself: the link is replaced, its target is not', async () => {
      await symlink(at('outside/dangling'), at('inputs/link'));
      await write([input('link', 'inside')]);
      expect(await readFile(at('inputs/link'), 'utf8')).toBe('inside');
      await expect(readlink(at('inputs/link'))).rejects.toMatchObject({ code: 'EINVAL' });
    });
  });

  test('the deepest path that is taken needs few descriptors', async () => {
    const path = Array<string>(32).fill('d').join('/');
    const opened: number[] = [];
    const rename = staging.rename.bind(staging);
    staging.rename = (name, to, toName) => {
      opened.push(openBelow(at('inputs/d')).length);
      rename(name, to, toName);
    };
    await write([input(path)]);
    expect(Math.max(...opened)).toBe(1);
    expect(await readFile(at(`inputs/${path}`), 'utf8')).toBe(path);
  });
});

describe('inputs of one request', () => {
  const files = (paths: readonly string[]) => paths.map((path) => input(path));

  test.each([
    [['a', 'b', 'c/d', 'c/e']],
    [['a', 'a.txt', 'a-b', 'a b', 'ab/c']],
    [['a/b', 'a.b/c', 'a!b']],
    [['x/a', 'y/a', 'a']],
    [[]],
  ])('%j go together', (paths) => {
    expect(() => refuseOverlaps(files(paths))).not.toThrow();
  });

  test.each([
    [['a', 'a']],
    [['a/b', 'c', 'a/b']],
    [['a', 'a/b']],
    [['a/b', 'a']],
    [['a', 'a!', 'a.txt', 'a/b/c/d']],
    [['a/b/c', 'a!', 'x', 'a/b']],
  ])('%j overlap, in whatever order', (paths) => {
    for (const order of [paths, [...paths].reverse()]) {
      expect(() => refuseOverlaps(files(order))).toThrow(
        expect.objectContaining({ code: 'invalid_path', message: expect.stringContaining('overlaps') }),
      );
    }
  });

  test('a thousand of the deepest paths are compared in little time and memory', () => {
    const deep = Array<string>(31).fill('d'.repeat(120)).join('/');
    const paths = Array.from({ length: 1000 }, (_, n) => parseRelativePath(`${n}/${deep}`, 'path'));
    const before = process.memoryUsage().heapUsed;
    refuseOverlaps(paths.map((path) => ({ path })));
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(256 * 1024 ** 2);
  });
});

function openBelow(path: string): string[] {
  const targets = readdirSync('/proc/self/fd').map((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`);
    } catch {
      // The one that listed them.
      return '';
    }
  });
  return targets.filter((target) => target.startsWith(path));
}
