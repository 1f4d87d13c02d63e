import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Directory, type EntryName, isErrno, within } from './directory.js';

const notAFolder = { code: expect.stringMatching(/^(ENOTDIR|ELOOP)$/) };

const swap = `
  const { renameSync } = require('node:fs');
  const swapTwice = () => {
    renameSync('spot', 'folder');
    renameSync('link', 'spot');
    renameSync('spot', 'link');
    renameSync('folder', 'spot');
  };`;

/** As {@link swap}, but against a reader that makes and removes the folder itself: each step may fail. */
const churn = `
  const { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync } = require('node:fs');
  const steps = [
    () => rmSync('parked', { recursive: true }),
    () => mkdirSync('spot'),
    () => mkdirSync('spot/deep'),
    () => rmSync('spot/deep', { recursive: true }),
    () => symlinkSync(outside, 'spot/deep'),
    () => renameSync('spot', 'parked'),
    () => symlinkSync(outside, 'spot'),
    () => unlinkSync('spot'),
    () => renameSync('parked', 'spot'),
  ];
  const swapTwice = () => {
    for (const step of steps) try { step(); } catch {}
  };`;

/** What this process holds open below a folder: nothing, when everything that was opened was closed. */
async function openBelow(path: string): Promise<string[]> {
  const descriptors = await readdir('/proc/self/fd');
  const targets = await Promise.all(
    descriptors.map((descriptor) => readlink(`/proc/self/fd/${descriptor}`).catch(() => '')),
  );
  return targets.filter((target) => target.startsWith(path));
}

jest.setTimeout(60_000);

describe('Directory', () => {
  let temporary: string;
  let root: string;
  let outside: string;
  let directory: Directory;

  beforeEach(async () => {
    temporary = await mkdtemp(join(tmpdir(), 'secbox-directory-'));
    root = join(temporary, 'root');
    outside = join(temporary, 'outside');
    await mkdir(root);
    await mkdir(outside);
    await writeFile(join(outside, 'file.txt'), 'outside');
    await chmod(outside, 0o711);
    directory = Directory.open(root);
  });

  afterEach(async () => {
    directory.close();
    // Node's own removal knows neither unreadable folders nor paths of more than 4096 bytes.
    execFileSync('chmod', ['-R', 'u+rwx', temporary]);
    execFileSync('rm', ['-rf', temporary]);
    expect(await openBelow(temporary)).toEqual([]);
  });

  async function expectOutsideUntouched(): Promise<void> {
    expect(await readdir(outside)).toEqual(['file.txt']);
    expect(await readFile(join(outside, 'file.txt'), 'utf8')).toBe('outside');
    expect((await stat(outside)).mode & 0o777).toBe(0o711);
  }

  async function readAll(name: EntryName, from = directory): Promise<string> {
    const file = from.openFile(name);
    try {
      return (await file.readAll()).toString('utf8');
    } finally {
      file.close();
    }
  }

  async function write(name: EntryName, content: string, to = directory): Promise<void> {
    await to.writeFile(name, 0o644, content);
  }

  describe('a link (cases 3 and 4)', () => {
    test('to a folder is not opened, neither as the folder itself nor on the way to one', async () => {
      await symlink(outside, join(root, 'link'));
      expect(() => directory.openDirectory('link')).toThrow(expect.objectContaining(notAFolder));
      expect(() => directory.ensureDirectory('link', 0o755)).toThrow(expect.objectContaining(notAFolder));
      expect(() => Directory.open(join(root, 'link'))).toThrow(expect.objectContaining(notAFolder));
      await expectOutsideUntouched();
    });

    test('to a file is not read', async () => {
      await symlink(join(outside, 'file.txt'), join(root, 'link'));
      expect(() => directory.openFile('link')).toThrow(expect.objectContaining({ code: 'ELOOP' }));
    });

    test.each(['new.txt', 'file.txt'])('to %s outside is not written through', async (target) => {
      await symlink(join(outside, target), join(root, 'link'));
      expect(() => directory.createFile('link', 0o644)).toThrow(expect.objectContaining({ code: 'EEXIST' }));
      await expectOutsideUntouched();
    });

    test('that dangles is told as a link, and no folder is made where it points', async () => {
      await symlink(join(outside, 'new'), join(root, 'link'));
      expect(() => directory.ensureDirectory('link', 0o755)).toThrow(expect.objectContaining(notAFolder));
      expect(directory.stat('link').isSymbolicLink()).toBe(true);
      await expectOutsideUntouched();
    });

    test('is replaced by a rename, not followed', async () => {
      await symlink(join(outside, 'file.txt'), join(root, 'link'));
      await write('new', 'inside');
      directory.rename('new', directory, 'link');
      expect(await readAll('link')).toBe('inside');
      await expectOutsideUntouched();
    });

    test('is removed alone, also from within a folder', async () => {
      await mkdir(join(root, 'folder', 'deep'), { recursive: true });
      for (const at of ['link', 'folder/link', 'folder/deep/link']) await symlink(outside, join(root, at));
      await directory.remove('link');
      await directory.remove('folder');
      expect(await readdir(root)).toEqual([]);
      await expectOutsideUntouched();
    });

    test('leaves the permissions of its target alone', async () => {
      await symlink(outside, join(root, 'link'));
      await chmod(outside, 0o011);
      directory.reclaim('link');
      expect((await stat(outside)).mode & 0o777).toBe(0o011);
      await chmod(outside, 0o711);
    });
  });

  /** Tries again and again while another process swaps, for 10,000 swaps and until every outcome was seen. */
  async function whileSwapped(script: string, attempt: () => Promise<void>, enough: () => boolean) {
    const child = spawn(
      process.execPath,
      [
        '-e',
        `const outside = process.argv[1];
      ${script}
      for (let n = 0; n < 5000; n += 1) swapTwice();
      process.stdout.write('10,000 swaps');
      let stop = false;
      process.stdin.resume().on('end', () => { stop = true; });
      (function more() {
        if (stop) process.exit(0);
        swapTwice();
        setImmediate(more);
      })();`,
        outside,
      ],
      { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] },
    );
    const closed = once(child, 'close');
    const swapped = { seen: false };
    child.stdout.once('data', () => (swapped.seen = true));
    try {
      while (child.exitCode === null && !(swapped.seen && enough())) await attempt();
      child.stdin.end();
      expect(await closed).toEqual([0, null]);
    } finally {
      child.kill('SIGKILL');
      await closed;
    }
  }

  describe('a folder that is swapped for a link and back meanwhile (case 5)', () => {
    const races = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENOTEMPTY', 'EEXIST', 'EISDIR'];
    let succeeded: number;
    let refused: number;

    beforeEach(() => {
      succeeded = 0;
      refused = 0;
    });

    async function counted(attempt: () => Promise<void>): Promise<void> {
      try {
        await attempt();
        succeeded += 1;
      } catch (error) {
        if (!isErrno(error, ...races)) throw error;
        refused += 1;
      }
    }

    const bothSeen = () => succeeded > 10 && refused > 10;

    test('never gives an outside byte, and nothing is made outside', async () => {
      await mkdir(join(root, 'spot'));
      await writeFile(join(root, 'spot', 'file.txt'), 'inside');
      await symlink(outside, join(root, 'link'));
      const read = new Set<string>();
      const readAndWrite = (spot: Directory) => async () => {
        read.add(await readAll('file.txt', spot));
        await write('made.txt', 'made', spot);
        await within(spot.ensureDirectory('made', 0o755), (made) => write('below.txt', 'made', made));
        await spot.remove('made');
        await spot.remove('made.txt');
      };
      await whileSwapped(
        swap,
        () => counted(() => within(directory.openDirectory('spot'), (spot) => readAndWrite(spot)())),
        bothSeen,
      );
      expect([...read]).toEqual(['inside']);
      await expectOutsideUntouched();
    });

    test('is never made, given permissions or cleared where the link points', async () => {
      let turn = 0;
      await whileSwapped(
        churn,
        () =>
          counted(async () => {
            turn += 1;
            if (turn % 2 === 0) return directory.remove('spot');
            return within(directory.ensureDirectory('spot', 0o700), (spot) => write('x', 'x', spot));
          }),
        bothSeen,
      );
      await expectOutsideUntouched();
    });
  });

  describe('what is no file', () => {
    test('eight FIFOs are opened and told apart without blocking (cases 6 and 22)', () => {
      const names = Array.from({ length: 8 }, (_, n) => `fifo${n}`);
      execFileSync('mkfifo', names, { cwd: root });
      const kinds = names.map((name) => {
        const file = directory.openFile(name);
        try {
          return file.stat().isFIFO();
        } finally {
          file.close();
        }
      });
      expect(kinds).toEqual(names.map(() => true));
    });

    test('a socket cannot be opened', async () => {
      const server = createServer().listen(join(root, 'socket'));
      try {
        await once(server, 'listening');
        expect(() => directory.openFile('socket')).toThrow(expect.objectContaining({ code: 'ENXIO' }));
        expect(directory.stat('socket').isSocket()).toBe(true);
      } finally {
        server.close();
      }
    });

    test('a file is no folder, and a folder is not made over it', async () => {
      await write('file', 'x');
      expect(() => directory.openDirectory('file')).toThrow(expect.objectContaining({ code: 'ENOTDIR' }));
      expect(() => directory.ensureDirectory('file', 0o755)).toThrow(
        expect.objectContaining({ code: 'ENOTDIR' }),
      );
      expect(await readAll('file')).toBe('x');
    });
  });

  describe('names', () => {
    test.each<[string, EntryName]>([
      ['empty', ''],
      ['.', '.'],
      ['..', '..'],
      ['two components', 'a/b'],
      ['up and away', '../outside'],
      ['absolute', '/etc'],
      ['two components in bytes', Buffer.from('a/b')],
      ['.. in bytes', Buffer.from('..')],
    ])('of more or less than one component are refused: %s', async (_what, name) => {
      await mkdir(join(root, 'a', 'b'), { recursive: true });
      const refused = { code: 'invalid_path' };
      expect(() => directory.openDirectory(name)).toThrow(expect.objectContaining(refused));
      expect(() => directory.ensureDirectory(name, 0o755)).toThrow(expect.objectContaining(refused));
      expect(() => directory.openFile(name)).toThrow(expect.objectContaining(refused));
      expect(() => directory.createFile(name, 0o644)).toThrow(expect.objectContaining(refused));
      expect(() => directory.stat(name)).toThrow(expect.objectContaining(refused));
      await expect(directory.remove(name)).rejects.toMatchObject(refused);
      expect(() => directory.reclaim(name)).toThrow(expect.objectContaining(refused));
      expect(() => directory.rename('a', directory, name)).toThrow(expect.objectContaining(refused));
      expect(() => directory.rename(name, directory, 'c')).toThrow(expect.objectContaining(refused));
    });

    test('with a NUL are refused', () => {
      expect(() => directory.openFile('a\0b')).toThrow(
        expect.objectContaining({ code: 'ERR_INVALID_ARG_VALUE' }),
      );
    });

    test.each<[string, Buffer]>([
      ['not UTF-8', Buffer.from([0x66, 0xff, 0xfe, 0x80])],
      ['an overlong dot', Buffer.from([0xc0, 0xae, 0xc0, 0xae])],
      ['a newline', Buffer.from('a\nb')],
      ['right to left', Buffer.from('\u202egpj.exe')],
      ['a leading dash', Buffer.from('-rf')],
      ['a backslash', Buffer.from('..\\x')],
      ['255 bytes', Buffer.alloc(255, 'x')],
    ])('are kept byte for byte: %s', async (_what, name) => {
      await write(name, 'content');
      const names: Buffer[] = [];
      for await (const found of directory.names()) names.push(found);
      expect(names).toEqual([name]);
      expect(await readAll(names[0] ?? '')).toBe('content');
      await directory.remove(name);
      expect(await readdir(root)).toEqual([]);
    });

    test('are each given once, however many there are', async () => {
      const expected = Array.from({ length: 3000 }, (_, n) => `n${n}`).sort();
      await Promise.all(expected.map((name) => writeFile(join(root, name), '')));
      const found: string[] = [];
      for await (const name of directory.names()) found.push(name.toString());
      expect(found.sort()).toEqual(expected);
    });

    test('can be left half read', async () => {
      for (let n = 0; n < 100; n += 1) await writeFile(join(root, `n${n}`), '');
      for await (const name of directory.names()) {
        expect(name.toString()).toMatch(/^n/);
        break;
      }
    });
  });

  describe('a folder that is ensured', () => {
    test('has its mode whatever the umask', async () => {
      const before = process.umask(0o077);
      try {
        await within(directory.ensureDirectory('open', 0o755), () => Promise.resolve());
        process.umask(0);
        await within(directory.ensureDirectory('secret', 0o700), () => Promise.resolve());
      } finally {
        process.umask(before);
      }
      expect(directory.stat('open').mode & 0o777).toBe(0o755);
      expect(directory.stat('secret').mode & 0o777).toBe(0o700);
    });

    test('is whole for everyone who ensured it at once, also when its maker died halfway', async () => {
      const owner = { uid: process.getuid?.() === 0 ? 1000 : -1, gid: 1000 };
      const given = owner.uid === -1 ? undefined : owner;
      // What a process leaves that is killed between making a folder and handing it over.
      await mkdir(join(root, 'halfway'), { mode: 0o000 });
      for (const name of ['halfway', 'new']) {
        await Promise.all(
          Array.from({ length: 50 }, () =>
            within(directory.ensureDirectory(name, 0o755, given), async () => {
              const stats = await stat(join(root, name));
              expect(stats.mode & 0o777).toBe(0o755);
              expect(stats.uid).toBe(given?.uid ?? process.getuid?.());
            }),
          ),
        );
      }
    });

    test('keeps what is in it', async () => {
      await mkdir(join(root, 'folder'));
      await writeFile(join(root, 'folder', 'kept'), 'kept');
      await within(directory.ensureDirectory('folder', 0o755), async (folder) => {
        expect(await readAll('kept', folder)).toBe('kept');
      });
    });
  });

  describe('removal', () => {
    test('of what is not there is fine', async () => {
      await directory.remove('nothing');
    });

    test('reaches past the longest path that the system takes', async () => {
      let folder = directory;
      for (let depth = 0; depth < 300; depth += 1) {
        const below = folder.ensureDirectory('d'.repeat(100), 0o755);
        await write('file', 'x', below);
        if (folder !== directory) folder.close();
        folder = below;
      }
      folder.close();
      await directory.remove('d'.repeat(100));
      expect(await readdir(root)).toEqual([]);
    });

    test('works on folders that forbid it (case 26)', async () => {
      for (const mode of [0o000, 0o400, 0o500, 0o300]) {
        const folder = join(root, 'tree', `mode${mode}`, 'below');
        await mkdir(folder, { recursive: true });
        await writeFile(join(folder, 'file'), 'x', { mode: 0o000 });
        await chmod(folder, mode);
        await chmod(join(folder, '..'), mode);
      }
      await chmod(join(root, 'tree'), 0o000);
      await directory.remove('tree');
      expect(await readdir(root)).toEqual([]);
    });

    test('takes files, FIFOs, sockets and many entries alike', async () => {
      await mkdir(join(root, 'tree', 'a', 'b', 'c'), { recursive: true });
      execFileSync('mkfifo', ['tree/fifo', 'tree/a/fifo', 'tree/a/b/c/fifo'], { cwd: root });
      for (let n = 0; n < 1000; n += 1) await writeFile(join(root, 'tree', 'a', `file${n}`), '');
      await directory.remove('tree');
      expect(await readdir(root)).toEqual([]);
    });
  });

  test('reclaiming gives the owner back just what it needs', async () => {
    await mkdir(join(root, 'folder'), { mode: 0o005 });
    await writeFile(join(root, 'file'), 'x', { mode: 0o000 });
    await chmod(join(root, 'folder'), 0o005);
    directory.reclaim('folder');
    directory.reclaim('file');
    expect(directory.stat('folder').mode & 0o777).toBe(0o705);
    expect(directory.stat('file').mode & 0o777).toBe(0o400);
    expect(await readAll('file')).toBe('x');
  });

  test('a new file has its mode, and is never one that was there', async () => {
    await write('file', 'first');
    expect(() => directory.createFile('file', 0o644)).toThrow(expect.objectContaining({ code: 'EEXIST' }));
    expect(await readAll('file')).toBe('first');
    expect(directory.stat('file').mode & 0o777).toBe(0o644);
  });

  test('a folder is let go of whatever happens in it', async () => {
    await mkdir(join(root, 'folder'));
    const failing = within(directory.openDirectory('folder'), () => Promise.reject(new Error('failed')));
    await expect(failing).rejects.toThrow('failed');
    expect(await openBelow(join(root, 'folder'))).toEqual([]);
  });
});
