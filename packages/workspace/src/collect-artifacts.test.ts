import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { collectArtifacts, type Collection, type CollectLimits } from './collect-artifacts.js';
import { Directory, within } from './directory.js';
import { OpenFile } from './open-file.js';

jest.setTimeout(60_000);

const mebibyte = 1024 ** 2;
const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');
const pathsOf = (entries: readonly { readonly path: string }[]) => entries.map(({ path }) => path);

describe('collecting artifacts', () => {
  let temporary: string;
  let root: string;

  beforeEach(async () => {
    temporary = await mkdtemp(join(tmpdir(), 'secbox-collect-'));
    root = join(temporary, 'artifacts');
    await mkdir(root);
  });

  afterEach(async () => {
    execFileSync('chmod', ['-R', 'u+rwx', temporary]);
    execFileSync('rm', ['-rf', temporary]);
    expect(await openBelow(temporary)).toEqual([]);
  });

  function collect(limits: Partial<CollectLimits> = {}): Promise<Collection> {
    const all = {
      maxBytes: 50 * mebibyte,
      maxEntries: 1000,
      maxDepth: 8,
      maxPathBytes: mebibyte,
      stop: new AbortController().signal,
      ...limits,
    };
    return within(Directory.open(root), (directory) => collectArtifacts(directory, all));
  }

  async function plant(files: Readonly<Record<string, string | Buffer>>): Promise<void> {
    for (const [path, content] of Object.entries(files)) {
      await mkdir(join(root, path, '..'), { recursive: true });
      await writeFile(join(root, path), content);
    }
  }

  describe('beside others who live on', () => {
    let staging: string;
    beforeEach(async () => {
      staging = join(temporary, 'staging');
      await mkdir(staging);
    });
    const collectCopies = (limits: Partial<CollectLimits> = {}) =>
      within(Directory.open(staging), (directory) => collect({ staging: directory, ...limits }));

    test('lists copies, which nobody has open', async () => {
      const large = Buffer.alloc(3 * mebibyte + 17, 'large');
      await plant({ large, 'below/run.sh': 'echo', empty: '' });
      await chmod(join(root, 'below/run.sh'), 0o777);
      const theirs = await Promise.all(
        ['large', 'below/run.sh', 'empty'].map((path) => open(join(root, path), 'r+')),
      );
      const { files } = await collectCopies();
      for (const handle of theirs) {
        await handle.write('forged', 0);
        await handle.close();
      }
      expect(files.map(({ path, size, sha256: hash }) => [path, size, hash])).toEqual([
        ['below/run.sh', 4, sha256('echo')],
        ['empty', 0, sha256('')],
        ['large', large.length, sha256(large)],
      ]);
      for (const { path, sha256: hash } of files) expect(sha256(await readFile(join(root, path)))).toBe(hash);
      expect((await stat(join(root, 'below/run.sh'))).mode & 0o777).toBe(0o755);
      expect(await readdir(staging)).toEqual([]);
    });

    test('a name that is a link to the same file becomes a file of its own', async () => {
      await plant({ one: 'same' });
      await link(join(root, 'one'), join(root, 'two'));
      await collectCopies();
      for (const name of ['one', 'two']) expect((await stat(join(root, name))).nlink).toBe(1);
    });

    test('no room for a copy loses nothing: what is left can be collected again', async () => {
      const full = Object.assign(new Error('full'), { code: 'ENOSPC' });
      await plant({ a: 'a', b: 'b', c: 'c' });
      const append: OpenFile['append'] = Reflect.get(OpenFile.prototype, 'append');
      const copy = jest.spyOn(OpenFile.prototype, 'append').mockImplementation(function (
        this: OpenFile,
        chunk,
      ) {
        return String(chunk) === 'b' ? Promise.reject(full) : append.call(this, chunk);
      });
      await expect(collectCopies()).rejects.toBe(full);
      copy.mockRestore();
      expect(await readdir(staging)).toEqual([]);
      const { files, truncated_by: by } = await collectCopies();
      expect([pathsOf(files), by]).toEqual([['a', 'b', 'c'], []]);
      for (const name of ['a', 'b', 'c']) expect(await readFile(join(root, name), 'utf8')).toBe(name);
    });

    test('no time leaves no copy behind', async () => {
      await plant({ large: Buffer.alloc(3 * mebibyte) });
      const stop = new AbortController();
      const rename = jest.spyOn(Directory.prototype, 'rename').mockImplementationOnce(() => {
        stop.abort(new Error('no time'));
        throw stop.signal.reason;
      });
      const { files, truncated_by: by } = await collectCopies({ stop: stop.signal });
      rename.mockRestore();
      expect([files, by]).toEqual([[], ['out_of_time']]);
      expect(await readdir(staging)).toEqual([]);
    });
  });

  test('what is listed is ours alone to change', async () => {
    await plant({ 'below/file': 'x' });
    for (const path of ['', 'below', 'below/file']) await chmod(join(root, path), 0o777);
    if (process.getuid?.() === 0) execFileSync('chown', ['-R', '1000:1000', root]);
    await collect();
    const all = await Promise.all(['', 'below', 'below/file'].map((path) => stat(join(root, path))));
    for (const { uid, mode } of all) expect([uid, mode & 0o777]).toEqual([process.getuid?.(), 0o755]);
  });

  test('an empty folder gives nothing', async () => {
    expect(await collect()).toEqual({
      files: [],
      others: [],
      dropped: [],
      total_bytes: 0,
      truncated: false,
      truncated_by: [],
    });
  });

  test('lists every file with its path, length, hash and media type', async () => {
    const large = Buffer.alloc(3 * mebibyte + 17, 'large');
    await plant({ 'report.html': '<p>', 'data/2024/a.csv': 'a,b\n', 'data/large': large, 'empty.txt': '' });
    const { files, ...rest } = await collect();
    expect(files).toEqual([
      { path: 'data/2024/a.csv', size: 4, sha256: sha256('a,b\n'), media_type: 'text/csv' },
      {
        path: 'data/large',
        size: large.length,
        sha256: sha256(large),
        media_type: 'application/octet-stream',
      },
      { path: 'empty.txt', size: 0, sha256: sha256(''), media_type: 'text/plain' },
      { path: 'report.html', size: 3, sha256: sha256('<p>'), media_type: 'text/html' },
    ]);
    expect(rest).toMatchObject({ others: [], dropped: [], truncated: false });
    expect(rest.total_bytes).toBeGreaterThanOrEqual(large.length + 7);
  });

  test('links are recorded as links and never followed (case 21)', async () => {
    const outside = join(temporary, 'outside');
    await mkdir(outside);
    await writeFile(join(outside, 'secret.txt'), 'secret');
    await mkdir(join(root, 'folder'));
    const links: Readonly<Record<string, string>> = {
      'a-file': join(outside, 'secret.txt'),
      'b-folder': outside,
      'c-environ': '/proc/self/environ',
      'd-dangling': join(outside, 'nothing'),
      'e-itself': 'e-itself',
      'folder/f-up': '..',
    };
    for (const [name, target] of Object.entries(links)) await symlink(target, join(root, name));
    const { files, others } = await collect();
    expect(files).toEqual([]);
    expect(others).toEqual(Object.keys(links).map((path) => ({ path, kind: 'symlink' })));
    expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe('secret');
    expect(await readdir(outside)).toEqual(['secret.txt']);
  });

  test('FIFOs, sockets and devices are listed and never opened (case 22)', async () => {
    const fifos = Array.from({ length: 8 }, (_, n) => `fifo${n}`);
    execFileSync('mkfifo', fifos, { cwd: root });
    // Only root may make a device, and a sandboxed program is not root.
    const devices = process.getuid?.() === 0 ? ['null', 'zero'] : [];
    for (const name of devices)
      execFileSync('mknod', [name, 'c', '1', name === 'null' ? '3' : '5'], { cwd: root });
    const server = createServer().listen(join(root, 'socket'));
    try {
      await once(server, 'listening');
      const { files, others } = await collect();
      expect(files).toEqual([]);
      expect(others).toEqual(
        [
          ...fifos.map((path) => ({ path, kind: 'fifo' })),
          ...devices.map((path) => ({ path, kind: 'character_device' })),
          { path: 'socket', kind: 'socket' },
        ].sort((a, b) => (a.path < b.path ? -1 : 1)),
      );
    } finally {
      server.close();
    }
  });

  describe('what a file costs is its length or its blocks, whichever is more (case 23)', () => {
    async function preallocate(name: string, bytes: number): Promise<void> {
      await plant({ [name]: '' });
      execFileSync('fallocate', ['--keep-size', '--length', String(bytes), name], { cwd: root });
    }

    test('a sparse terabyte is over the cap, not hashed, and removed', async () => {
      await plant({ sparse: '', 'zz.txt': 'kept' });
      await truncate(join(root, 'sparse'), 1024 ** 4);
      const { files, dropped, truncated } = await collect();
      expect(pathsOf(files)).toEqual(['zz.txt']);
      expect(dropped).toEqual([{ path: 'sparse', size: 1024 ** 4, reason: 'over_total' }]);
      expect(truncated).toBe(true);
      expect(await readdir(root)).toEqual(['zz.txt']);
    });

    test('a preallocated file of length 0 is over the cap, and removed', async () => {
      await preallocate('reserved', 8 * mebibyte);
      const { files, dropped } = await collect({ maxBytes: 4 * mebibyte });
      expect(files).toEqual([]);
      expect(dropped).toMatchObject([{ path: 'reserved', reason: 'over_total' }]);
      expect(dropped[0]?.size).toBeGreaterThanOrEqual(8 * mebibyte);
      expect(await readdir(root)).toEqual([]);
    });

    test('both count towards the total when they fit', async () => {
      await plant({ sparse: '' });
      await truncate(join(root, 'sparse'), 3 * mebibyte);
      await preallocate('reserved', 2 * mebibyte);
      const { files, total_bytes: total } = await collect();
      expect(files.map(({ path, size }) => [path, size])).toEqual([
        ['reserved', 0],
        ['sparse', 3 * mebibyte],
      ]);
      expect(total).toBeGreaterThanOrEqual(5 * mebibyte);
    });
  });

  test('past the byte cap files are kept in path order as they fit, and the rest is removed and listed', async () => {
    const unit = 64 * 1024;
    await plant({
      'a/first': Buffer.alloc(3 * unit),
      b: Buffer.alloc(3 * unit),
      'c/fits': Buffer.alloc(unit),
      d: Buffer.alloc(unit),
    });
    const { files, dropped, total_bytes: total, truncated } = await collect({ maxBytes: 4 * unit });
    expect(pathsOf(files)).toEqual(['a/first', 'c/fits']);
    expect(dropped).toEqual([
      { path: 'b', size: 3 * unit, reason: 'over_total' },
      { path: 'd', size: unit, reason: 'over_total' },
    ]);
    expect([total, truncated]).toEqual([4 * unit, true]);
    expect(await readdir(root)).toEqual(['a', 'c']);
  });

  describe('past the entry cap (case 24)', () => {
    test('3,000 files are cut down to it, flagged, and what is not listed is gone', async () => {
      for (let n = 0; n < 3000; n += 1) await writeFile(join(root, `file${n}`), '');
      const { files, truncated, truncated_by: by } = await collect({ maxEntries: 100 });
      expect([truncated, by]).toEqual([true, ['too_many_entries']]);
      expect(files).toHaveLength(100);
      expect((await readdir(root)).sort()).toEqual(pathsOf(files));
    });

    test('folders count, and what is in a surplus folder goes with it', async () => {
      for (let n = 0; n < 20; n += 1) await plant({ [`folder${n}/deep/file`]: 'x' });
      const { files, truncated } = await collect({ maxEntries: 10 });
      expect(truncated).toBe(true);
      expect(files).toEqual([]);
      const left = (await readdir(root, { recursive: true })).sort();
      expect(left).toHaveLength(10);
      expect(left.every((name) => /^folder\d+$/.test(name))).toBe(true);
    });

    test('exactly as many as the cap are all kept and nothing is flagged', async () => {
      await plant({ 'a/b': '', c: '' });
      const { files, truncated } = await collect({ maxEntries: 3 });
      expect(pathsOf(files)).toEqual(['a/b', 'c']);
      expect(truncated).toBe(false);
    });
  });

  test('past the cap of all paths together nothing more is listed or kept, and that is flagged', async () => {
    for (let n = 10; n < 30; n += 1) await plant({ [`folder/${String(n).repeat(50)}`]: 'x' });
    const { files, truncated, truncated_by: by } = await collect({ maxPathBytes: 500 });
    expect([truncated, by]).toEqual([true, ['paths_too_long']]);
    expect(files.length).toBeGreaterThan(0);
    expect(pathsOf(files).join('').length).toBeLessThanOrEqual(500);
    const left = (await readdir(join(root, 'folder'))).sort();
    expect(pathsOf(files)).toEqual(left.map((name) => `folder/${name}`));
  });

  describe('when time runs out (case 24)', () => {
    /** Aborts once this has been looked at so often. */
    function stopAfter(looks: number): AbortSignal {
      const late = new AbortController();
      const { signal } = late;
      let looked = 0;
      const look = signal.throwIfAborted.bind(signal);
      signal.throwIfAborted = () => {
        if ((looked += 1) > looks) late.abort(new Error('late'));
        look();
      };
      return signal;
    }

    test('what is listed by then is true, what is not stays, and that is said', async () => {
      for (let n = 10; n < 30; n += 1) await plant({ [`folder/file${n}`]: `${n}` });
      const { files, truncated, truncated_by: by } = await collect({ stop: stopAfter(20) });
      expect([truncated, by]).toEqual([true, ['out_of_time']]);
      expect(files.length).toBeGreaterThan(0);
      expect(files.length).toBeLessThan(20);
      for (const [index, { path, sha256: hash }] of files.entries()) {
        expect([path, hash]).toEqual([`folder/file${10 + index}`, sha256(`${10 + index}`)]);
      }
      expect(await readdir(join(root, 'folder'))).toHaveLength(20);
    });

    test('the removal of a surplus, or of what is too deep, ends as well', async () => {
      for (let n = 0; n < 600; n += 1) await plant({ [`a/b/c/file${n}`]: '', [`file${n}`]: '' });
      for (const limits of [{ maxEntries: 0 }, { maxDepth: 1 }]) {
        const { truncated_by: by } = await collect({ ...limits, stop: stopAfter(3) });
        expect(by).toContain('out_of_time');
        expect((await readdir(root, { recursive: true })).length).toBeGreaterThan(0);
      }
    });

    test('at once: nothing is listed, nothing is touched', async () => {
      await plant({ a: 'x' });
      expect(await collect({ stop: AbortSignal.abort(new Error('late')) })).toMatchObject({
        files: [],
        truncated_by: ['out_of_time'],
      });
      expect(await readdir(root)).toEqual(['a']);
    });
  });

  test('folders past the depth cap are removed and listed, however deep they go', async () => {
    await plant({ '1/2/kept': 'x', '1/2/3/lost': 'x' });
    const shell = 'for i in $(seq 60); do mkdir $0 && cd $0; done; echo x > file';
    execFileSync('bash', ['-c', shell, 'd'.repeat(200)], { cwd: join(root, '1', '2', '3') });
    const { files, dropped, truncated } = await collect({ maxDepth: 2 });
    expect(pathsOf(files)).toEqual(['1/2/kept']);
    expect(dropped).toEqual([{ path: '1/2/3', size: 0, reason: 'too_deep' }]);
    expect(truncated).toBe(true);
    expect(await readdir(join(root, '1', '2'))).toEqual(['kept']);
  });

  test('folders and files that forbid reading are collected all the same (case 26)', async () => {
    const modes = ['000', '300', '400', '500'];
    for (const mode of modes) {
      await plant({ [`${mode}/below/file`]: mode });
      await chmod(join(root, mode, 'below', 'file'), parseInt(mode, 8) & 0o600 & ~0o400);
      await chmod(join(root, mode, 'below'), parseInt(mode, 8));
      await chmod(join(root, mode), parseInt(mode, 8));
    }
    const { files, others } = await collect();
    expect(files.map(({ path, sha256: hash }) => [path, hash])).toEqual(
      modes.map((mode) => [`${mode}/below/file`, sha256(mode)]),
    );
    expect(others).toEqual([]);
  });

  test('folders and files that forbid reading do not escape the caps (case 26)', async () => {
    await plant({ 'a/b/c': 'x', hidden: Buffer.alloc(2 * mebibyte) });
    await chmod(join(root, 'a', 'b'), 0o000);
    await chmod(join(root, 'hidden'), 0o000);
    const { files, dropped } = await collect({ maxBytes: mebibyte, maxDepth: 1 });
    expect(files).toEqual([]);
    expect(dropped).toMatchObject([
      { path: 'a/b', reason: 'too_deep' },
      { path: 'hidden', size: 2 * mebibyte, reason: 'over_total' },
    ]);
    expect(await readdir(root, { recursive: true })).toEqual(['a']);
  });

  test('each name of a file with several counts, and to drop one leaves the others', async () => {
    await plant({ a: Buffer.alloc(mebibyte, 'x') });
    await link(join(root, 'a'), join(root, 'b'));
    await link(join(root, 'a'), join(root, 'c'));
    const { files, dropped } = await collect({ maxBytes: 2 * mebibyte });
    expect(pathsOf(files)).toEqual(['a', 'b']);
    expect(files[0]?.sha256).toBe(files[1]?.sha256);
    expect(pathsOf(dropped)).toEqual(['c']);
    expect((await readFile(join(root, 'a'))).length).toBe(mebibyte);
  });

  describe('names (case 25)', () => {
    test.each([
      ['a newline', 'a\nb.txt'],
      ['markup', '<script>alert(1)<'],
      ['right to left', '\u202efdp.exe'],
      ['a leading dash', '-rf'],
      ['a byte order mark', '\ufeffa.txt'],
      ['a replacement character', '\ufffd'],
      ['not in a normal form', 'e\u0301'],
      ['a quote and a backslash', '"\\'],
    ])('that are UTF-8 are told as they are: %s', async (_what, name) => {
      await plant({ [name]: 'x' });
      const { files } = await collect();
      expect(files).toMatchObject([{ path: name }]);
      expect(files[0]).not.toHaveProperty('path_base64');
      expect(JSON.parse(JSON.stringify(files))).toEqual(files);
    });

    test('that are not UTF-8 are recovered from path_base64, links and dropped files too', async () => {
      const folder = Buffer.from([0x64, 0xff]);
      const at = (...names: readonly Buffer[]) =>
        Buffer.concat([Buffer.from(root), ...names.flatMap((name) => [Buffer.from('/'), name])]);
      const names = {
        file: Buffer.from([0xfe, 0x2e]),
        link: Buffer.from([0x80]),
        large: Buffer.from([0xc0, 0xae]),
      };
      await mkdir(at(folder));
      await writeFile(at(folder, names.file), 'x');
      await symlink('nowhere', at(folder, names.link));
      await writeFile(at(folder, names.large), Buffer.alloc(mebibyte));
      const { files, others, dropped } = await collect({ maxBytes: mebibyte / 2 });
      for (const [entry, name] of [
        [files[0], names.file],
        [others[0], names.link],
        [dropped[0], names.large],
      ] as const) {
        expect(Buffer.from(entry?.path_base64 ?? '', 'base64')).toEqual(
          Buffer.concat([folder, Buffer.from('/'), name]),
        );
        expect(entry?.path).toContain('\ufffd');
      }
    });

    test('that differ stay apart', async () => {
      const names = ['a', '\ufeffa', 'A', 'a ', '\u00e9', 'e\u0301'];
      await plant(Object.fromEntries(names.map((name) => [name, name])));
      const { files } = await collect();
      expect(new Set(pathsOf(files))).toEqual(new Set(names));
      for (const { path, sha256: hash } of files) expect(hash).toBe(sha256(path));
    });

    test('come in the order of their bytes, whatever the order on disk', async () => {
      const names = ['Z', 'a', 'a10', 'a9', 'z', '\u00e9', '\uffee', '\u{1f600}'];
      await plant(Object.fromEntries([...names].reverse().map((name) => [name, ''])));
      expect(pathsOf((await collect()).files)).toEqual(names);
    });
  });
});

async function openBelow(path: string): Promise<string[]> {
  const descriptors = await readdir('/proc/self/fd');
  const targets = await Promise.all(
    descriptors.map((descriptor) => readlink(`/proc/self/fd/${descriptor}`).catch(() => '')),
  );
  return targets.filter((target) => target.startsWith(path));
}
