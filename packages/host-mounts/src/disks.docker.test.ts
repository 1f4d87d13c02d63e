import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { makeImage } from './disk-image.js';
import { openHostMounts } from './host-mounts.js';
import { MountingPlace, mountsProgram, silent } from './testing/mounting-place.js';

const whereDisksAre = process.platform === 'linux' && process.getuid?.() === 0 ? describe : describe.skip;
const owner = { uid: 1000, gid: 1000 };
const bytes = 16 * 1024 ** 2;

let place: MountingPlace;
let image: string;
let target: string;
beforeEach(async () => {
  place = await MountingPlace.open({ disks: true });
  image = place.source('disk.img');
  target = place.target('work');
  await mkdir(target);
  await makeImage(image, bytes, owner);
});
afterEach(async () => {
  expect(await place.close()).toEqual([]);
});

const refusedAs = (step: string, errno: string) => ({ code: 'mount_failed', details: { errno, step } });
const devicesOf = (file: string) =>
  execFileSync('losetup', ['--noheadings', '--output', 'NAME', '--associated', file]).toString().trim();
const mountLine = async () =>
  (await readFile('/proc/self/mountinfo', 'utf8'))
    .split('\n')
    .find((line) => line.split(' ')[4] === target.replaceAll(' ', '\\040')) ?? '';

whereDisksAre('a disk', () => {
  test('keeps what is written, without setuid and devices, and its loop device goes with it', async () => {
    await place.mounts.disk({ image, target });
    expect(await mountLine()).toMatch(/ rw,nosuid,nodev,noatime .*- ext4 \/dev\/loop\d+ rw.*discard/);
    await writeFile(join(target, 'f'), 'kept');
    await place.mounts.unmount(target);
    while (devicesOf(image) !== '');
    expect(await readdir(target)).toEqual([]);
    await place.mounts.disk({ image, target });
    expect(await readFile(join(target, 'f'), 'utf8')).toBe('kept');
    await place.mounts.unmount(target);
  });

  test('of several at once each gets a device of its own', async () => {
    const names = ['a', 'b', 'c', 'd'];
    for (const name of names) {
      await mkdir(place.target(name));
      await makeImage(place.source(name), bytes, owner);
    }
    await Promise.all(
      names.map((name) => place.mounts.disk({ image: place.source(name), target: place.target(name) })),
    );
    for (const name of names) await writeFile(join(place.target(name), name), '');
    for (const name of names) {
      expect(await readdir(place.target(name))).toEqual(expect.arrayContaining([name]));
      await place.mounts.unmount(place.target(name));
    }
  });

  test.each<[what: string, step: string, errno: string, named: () => Promise<string>]>([
    [
      'what is no file system',
      'disk',
      'EINVAL',
      async () => {
        await writeFile(place.source('zeros'), Buffer.alloc(bytes));
        return place.source('zeros');
      },
    ],
    [
      'a folder',
      'source',
      'EISDIR',
      async () => {
        await mkdir(place.source('folder'));
        return place.source('folder');
      },
    ],
    [
      'a pipe',
      'source',
      'EINVAL',
      () => {
        execFileSync('mkfifo', [place.source('pipe')]);
        return Promise.resolve(place.source('pipe'));
      },
    ],
    [
      'a link',
      'source',
      'ELOOP',
      async () => {
        await symlink(image, place.source('link'));
        return place.source('link');
      },
    ],
    ['nothing', 'source', 'ENOENT', () => Promise.resolve(place.source('none'))],
    [
      'what is outside of the roots',
      'source',
      'EACCES',
      async () => {
        await rename(image, join(place.root, 'disk.img'));
        return join(place.root, 'disk.img');
      },
    ],
    ['a device', 'source', 'EACCES', () => Promise.resolve('/dev/zero')],
  ])('%s is none, and leaves no loop device', async (_, step, errno, named) => {
    const wrong = await named();
    await expect(place.mounts.disk({ image: wrong, target })).rejects.toMatchObject(refusedAs(step, errno));
    while (devicesOf(wrong) !== '');
    expect(await place.left()).toEqual([]);
  });

  test('is refused on what is mounted on, and outside of the roots, and leaves no loop device', async () => {
    await place.makeSources();
    await place.mounts.bind({ source: place.source('work'), target, readOnly: true });
    const busy = place.mounts.disk({ image, target });
    await expect(busy).rejects.toMatchObject(refusedAs('target', 'EBUSY'));
    await place.mounts.unmount(target);
    const outside = place.mounts.disk({ image, target: place.source('work') });
    await expect(outside).rejects.toMatchObject(refusedAs('target', 'EACCES'));
    while (devicesOf(image) !== '');
  });

  test('is none for a program that was not started for it', async () => {
    const roots = { sources: [place.sources], targets: [place.targets] };
    const opened = await openHostMounts({ program: mountsProgram(), roots, logger: silent });
    if (!opened.available) throw new Error(opened.reason);
    const refused = opened.mounts.disk({ image, target });
    await expect(refused).rejects.toMatchObject(refusedAs('disk', 'ENODEV'));
    await opened.mounts.close();
  });
});
