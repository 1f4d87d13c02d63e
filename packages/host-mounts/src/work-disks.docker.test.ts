import { execFileSync, spawnSync } from 'node:child_process';
import {
  access,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  statfs,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openHostMounts } from './host-mounts.js';
import { mountPointsBelow } from './mount-table.js';
import { makeDisk } from './move-into-image.js';
import { mountsProgram, silent } from './testing/mounting-place.js';
import { WorkDisks } from './work-disks.js';

const whereDisksAre = process.platform === 'linux' && process.getuid?.() === 0 ? describe : describe.skip;
const owner = { uid: 1000, gid: 1000 };
const bytes = 32 * 1024 ** 2;

let root: string;
let place: { readonly folder: string; readonly mountPoint: string };
let disks: WorkDisks;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'secbox disks-')));
  place = { folder: join(root, 'disks', 'p'), mountPoint: join(root, 'work') };
  await mkdir(place.mountPoint);
  disks = new WorkDisks({ idleMs: 60_000 });
});
afterEach(async () => {
  await disks.close();
  await WorkDisks.cleanUp(root);
  await rm(root, { recursive: true });
});

const inWork = (name: string) => join(place.mountPoint, name);

const helped = async () => {
  const opened = await openHostMounts({
    program: mountsProgram(),
    roots: { sources: [root], targets: [root] },
    disks: true,
    logger: silent,
  });
  if (!opened.available) throw new Error(opened.reason);
  return opened.mounts;
};

whereDisksAre('with the mounts helper', () => {
  let mounts: Awaited<ReturnType<typeof helped>>;
  beforeEach(async () => {
    mounts = await helped();
    disks = new WorkDisks({ idleMs: 60_000, spareFolder: join(root, 'spare') });
    disks.mountThrough(mounts);
  });
  afterEach(() => mounts.close());

  test('a disk is that of whoever mounted it before without', async () => {
    const plain = new WorkDisks();
    (await plain.hold(place, bytes))();
    await writeFile(inWork('f'), 'kept');
    await plain.close();
    const release = await disks.hold(place, bytes);
    expect(await readFile(inWork('f'), 'utf8')).toBe('kept');
    expect((await stat(place.mountPoint)).uid).toBe(owner.uid);
    expect(await readdir(place.mountPoint)).toEqual(['f']);
    release();
  });

  test('one that is still attached elsewhere becomes the same file system', async () => {
    const elsewhere = join(root, 'elsewhere');
    await mkdir(elsewhere);
    (await disks.hold(place, bytes))();
    execFileSync('mount', ['--bind', place.mountPoint, elsewhere]);
    expect(await disks.letGo(place)).toBe(true);
    const release = await disks.hold(place, bytes);
    await writeFile(inWork('f'), 'seen');
    expect(await readFile(join(elsewhere, 'f'), 'utf8')).toBe('seen');
    execFileSync('umount', [elsewhere]);
    release();
  });

  test('one that is still attached elsewhere grows when it is not any more', async () => {
    const elsewhere = join(root, 'elsewhere');
    const image = join(place.folder, 'disk.img');
    const mayGrowTo = async (size: number) => {
      const release = await disks.hold(place, size);
      const { blocks, bsize } = await statfs(place.mountPoint);
      release();
      expect(await disks.letGo(place)).toBe(true);
      return blocks * bsize;
    };
    await mkdir(elsewhere);
    const before = await mayGrowTo(bytes);
    execFileSync('mount', ['-o', 'loop', image, elsewhere]);
    expect(await mayGrowTo(2 * bytes)).toBe(before);
    expect((await stat(image)).size).toBe(bytes);
    execFileSync('umount', [elsewhere]);
    expect(await mayGrowTo(2 * bytes)).toBeGreaterThan(1.5 * before);
  });

  test('one that cannot be mounted fails with the reason', async () => {
    await mkdir(place.folder, { recursive: true });
    await writeFile(join(place.folder, 'disk.img'), Buffer.alloc(bytes));
    await expect(disks.hold(place, 0)).rejects.toMatchObject({
      code: 'work_unavailable',
      message: expect.stringContaining('mount failed') as unknown,
    });
  });

  test('is mounted without it when it is gone', async () => {
    await mounts.close();
    const release = await disks.hold(place, bytes);
    expect(await mountPointsBelow(root)).toEqual([place.mountPoint]);
    release();
  });

  test('a disk made ahead that somebody removed is made anew', async () => {
    disks.makeSpare(bytes);
    while (!(await readdir(join(root, 'spare')).catch(() => [] as string[])).includes('1.img'))
      await new Promise((resolve) => setTimeout(resolve, 5));
    await rm(join(root, 'spare', '1.img'));
    const release = await disks.hold(place, bytes);
    expect(await mountPointsBelow(root)).toEqual([place.mountPoint]);
    release();
  });

  test('a new project gets the disk that was made ahead, and of another size makes its own', async () => {
    disks.makeSpare(bytes);
    while (!(await readdir(join(root, 'spare')).catch(() => [] as string[])).includes('1.img'))
      await new Promise((resolve) => setTimeout(resolve, 5));
    const spare = await stat(join(root, 'spare', '1.img'));
    const other = { folder: join(root, 'disks', 'q'), mountPoint: join(root, 'other') };
    await mkdir(other.mountPoint);
    const releases = [await disks.hold(other, 2 * bytes), await disks.hold(place, bytes)];
    expect((await stat(join(place.folder, 'disk.img'))).ino).toBe(spare.ino);
    expect((await stat(join(other.folder, 'disk.img'))).size).toBe(2 * bytes);
    for (const release of releases) release();
    await disks.close();
    await expect(access(join(root, 'spare'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

whereDisksAre('a disk', () => {
  test('is mounted once for all who hold it, stays for the next, and is gone after the last', async () => {
    disks = new WorkDisks({ idleMs: 1 });
    const releases = await Promise.all(Array.from({ length: 10 }, () => disks.hold(place, bytes)));
    expect(await mountPointsBelow(root)).toEqual([place.mountPoint]);
    await writeFile(inWork('f'), 'kept');
    for (const release of releases) {
      expect(await mountPointsBelow(root)).toEqual([place.mountPoint]);
      release();
      release();
    }
    while ((await mountPointsBelow(root)).length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const again = await disks.hold(place, bytes);
    expect(await readFile(inWork('f'), 'utf8')).toBe('kept');
    again();
  });

  test('held and let go of all the time is there whenever it is held', async () => {
    disks = new WorkDisks({ idleMs: 0 });
    await Promise.all(
      Array.from({ length: 4 }, async (_, worker) => {
        for (let n = 0; n < 10; n++) {
          const release = await disks.hold(place, bytes);
          await writeFile(inWork(`f${worker}-${n}`), 'x');
          release();
          await new Promise((resolve) => setTimeout(resolve, worker));
        }
      }),
    );
    const release = await disks.hold(place, bytes);
    expect(await readdir(place.mountPoint)).toHaveLength(40);
    release();
  });

  test('that somebody uses on the host stays mounted, and is used again', async () => {
    (await disks.hold(place, bytes))();
    const user = await open(inWork('open'), 'w');
    await disks.close();
    expect(await mountPointsBelow(root)).toEqual([place.mountPoint]);
    (await disks.hold(place, bytes))();
    await user.close();
    expect(await readdir(place.mountPoint)).toEqual(['open']);
  });

  test('is unmounted at once for whoever asks, unless it is held or used', async () => {
    expect(await disks.letGo(place)).toBe(true);
    const release = await disks.hold(place, bytes);
    expect(await disks.letGo(place)).toBe(false);
    release();
    const user = await open(inWork('open'), 'w');
    expect(await disks.letGo(place)).toBe(false);
    expect(await mountPointsBelow(root)).toEqual([place.mountPoint]);
    await user.close();
    expect(await disks.letGo(place)).toBe(true);
    expect(await mountPointsBelow(root)).toEqual([]);
    expect(await new WorkDisks().letGo({ ...place, mountPoint: join(root, 'none') })).toBe(true);
  });

  test('that an operator unmounted is mounted again', async () => {
    (await disks.hold(place, bytes))();
    await writeFile(inWork('f'), 'kept');
    execFileSync('umount', [place.mountPoint]);
    const release = await disks.hold(place, bytes);
    expect(await readFile(inWork('f'), 'utf8')).toBe('kept');
    release();
  });

  test('that the kernel marked as faulty is mended', async () => {
    (await disks.hold(place, bytes))();
    await writeFile(inWork('f'), 'kept');
    await disks.close();
    const image = join(place.folder, 'disk.img');
    execFileSync('debugfs', ['-w', '-R', 'set_super_value state 3', image], { stdio: 'ignore' });
    const release = await disks.hold(place, bytes);
    expect(await readFile(inWork('f'), 'utf8')).toBe('kept');
    release();
    await disks.close();
    const state = execFileSync('dumpe2fs', ['-h', image], { stdio: ['ignore', 'pipe', 'ignore'] }).toString();
    expect(state).toMatch(/^Filesystem state: +clean$/m);
  });

  test('that cannot be mounted fails with the reason, and not for ever', async () => {
    await mkdir(place.folder, { recursive: true });
    const image = join(place.folder, 'disk.img');
    await writeFile(image, Buffer.alloc(bytes));
    await expect(disks.hold(place, 0)).rejects.toMatchObject({
      code: 'work_unavailable',
      message: expect.stringContaining('mount failed') as unknown,
    });
    await rm(image);
    (await disks.hold(place, bytes))();
    expect(await mountPointsBelow(root)).toEqual([place.mountPoint]);
  });

  test('that there is no room for on the host is told as such, and made once there is', async () => {
    const host = join(root, 'host');
    await mkdir(host);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', host]);
    const filler = join(host, 'filler');
    const cramped = { folder: join(host, 'disk'), mountPoint: join(host, 'work') };
    await mkdir(cramped.mountPoint);
    const filling = spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4k'], { env: { LC_ALL: 'C' } });
    expect(filling.stderr.toString()).toContain('No space left on device');
    await expect(disks.hold(cramped, bytes)).rejects.toMatchObject({ code: 'disk_full' });
    await rm(filler);
    (await disks.hold(cramped, bytes))();
    expect(await mountPointsBelow(host)).toEqual([cramped.mountPoint]);
  });

  test('that was in use when it was to go is told of, and goes when it is free', async () => {
    const held = await disks.hold(place, bytes);
    expect(await disks.unheld(root)).toEqual([]);
    expect(await disks.unmountUnheld(place.mountPoint)).toBe(false);
    const user = await open(inWork('used'), 'w');
    held();
    expect(await disks.letGo(place)).toBe(false);
    expect(await disks.unheld(root)).toEqual([place.mountPoint]);
    expect(await disks.unmountUnheld(place.mountPoint)).toBe(false);
    await user.close();

    // Who comes while it goes gets it mounted again, not the folder below.
    const [gone, release] = await Promise.all([
      disks.unmountUnheld(place.mountPoint),
      disks.hold(place, bytes),
    ]);
    expect(gone).toBe(true);
    expect(await readdir(place.mountPoint)).toEqual(['used']);
    expect(await disks.unheld(root)).toEqual([]);
    release();
  });

  test('counts what is yet to be written', async () => {
    const release = await disks.hold(place, bytes);
    expect(disks.pendingBytes()).toBe(0);
    await writeFile(inWork('f'), Buffer.alloc(16 * 1024 ** 2));
    const pending = disks.pendingBytes();
    const written = (await stat(join(place.folder, 'disk.img'))).blocks * 512;
    expect(pending + written).toBeGreaterThanOrEqual(16 * 1024 ** 2);
    execFileSync('sync', ['-f', place.mountPoint]);
    expect(disks.pendingBytes()).toBeLessThan(1024 ** 2);
    release();
  });
});

whereDisksAre('a plain folder that becomes a disk', () => {
  const setAside = () => join(place.folder, 'set-aside');
  const filled = () => join(place.folder, 'filled.img');

  async function expectMoved(): Promise<void> {
    const release = await disks.hold(place, bytes);
    expect(await readFile(inWork('f'), 'utf8')).toBe('kept');
    expect((await stat(place.mountPoint)).uid).toBe(1000);
    expect(await readdir(place.folder)).toContain('disk.img');
    await expect(access(setAside())).rejects.toMatchObject({ code: 'ENOENT' });
    release();
    await disks.close();
    expect(await readdir(place.mountPoint)).toEqual([]);
  }

  beforeEach(() => writeFile(inWork('f'), 'kept'));

  test('is moved whole', () => expectMoved());

  test('larger than a disk may be gets one that it fits into', async () => {
    await writeFile(inWork('large'), Buffer.alloc(2 * bytes));
    const release = await disks.hold(place, bytes);
    expect((await stat(inWork('large'))).size).toBe(2 * bytes);
    release();
  });

  test('after a crash while the image was filled', async () => {
    await mkdir(place.folder, { recursive: true });
    await writeFile(filled(), 'half');
    await writeFile(`${filled()}.unfinished`, 'half');
    await expectMoved();
  });

  test('after a crash when the folder was set aside, before and after the next was made', async () => {
    await makeDisk(place, bytes, owner);
    await rename(join(place.folder, 'disk.img'), filled());
    await rename(place.mountPoint, setAside());
    await expectMoved();
    await rename(join(place.folder, 'disk.img'), filled());
    await mkdir(setAside());
    await expectMoved();
  });

  test('after a crash when the image was in its place', async () => {
    await makeDisk(place, bytes, owner);
    await mkdir(join(setAside(), 'half removed'), { recursive: true });
    await expectMoved();
  });

  test('that somebody filled while the disk was unmounted keeps what is in it', async () => {
    await makeDisk(place, bytes, owner);
    await writeFile(inWork('beneath'), 'theirs');
    const release = await disks.hold(place, bytes);
    expect(await readdir(place.mountPoint)).toEqual(['f']);
    release();
    await disks.close();
    expect(await readdir(place.mountPoint)).toEqual(['beneath']);
  });
});
