import { execFileSync } from 'node:child_process';
import {
  chmod,
  chown,
  copyFile,
  lstat,
  mkdir,
  readdir,
  readFile,
  rm,
  rmdir,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openHostMounts } from './host-mounts.js';
import { MountingPlace, mountsProgram, silent } from './testing/mounting-place.js';

const whereFoldersAreMounted =
  process.platform === 'linux' && process.getuid?.() === 0 ? describe : describe.skip;

let place: MountingPlace;
beforeEach(async () => {
  place = await MountingPlace.open();
  await place.makeSources();
  await mkdir(place.target('s', 'work'), { recursive: true });
});
afterEach(async () => {
  expect(await place.close()).toEqual([]);
});

const refusedAs = (errno: string, step: string) => ({ code: 'mount_failed', details: { errno, step } });
const bind = (source: string, target: string, readOnly = false) =>
  place.mounts.bind({ source, target, readOnly });
const mountOptions = async (point: string) => {
  const line = (await readFile('/proc/self/mountinfo', 'utf8'))
    .split('\n')
    .find((row) => row.split(' ')[4] === point.replaceAll(' ', '\\040'));
  return line?.split(' ').slice(5, 7).join(' ') ?? '';
};

whereFoldersAreMounted('a bind', () => {
  test('shows a folder at its target, without setuid and devices, until it is unmounted', async () => {
    await bind(place.source('work'), place.target('s', 'work'));
    expect(await readdir(place.target('s', 'work'))).toEqual(['work.txt']);
    expect(await mountOptions(place.target('s', 'work'))).toMatch(/^rw,nosuid,nodev/);
    expect(await place.mounts.list()).toEqual([place.target('s', 'work')]);
    await place.mounts.unmount(place.target('s', 'work'));
    await place.mounts.unmount(place.target('s', 'work'));
    expect(await readdir(place.target('s', 'work'))).toEqual([]);
    expect(await readdir(place.source('work'))).toEqual(['work.txt']);
  });

  test('that is read-only is so for root as well, and its source is not', async () => {
    await bind(place.source('work'), place.target('s', 'work'), true);
    await expect(writeFile(place.target('s', 'work', 'f'), '')).rejects.toMatchObject({ code: 'EROFS' });
    await writeFile(place.source('work', 'f'), '');
    await place.mounts.unmount(place.target('s', 'work'));
  });

  test('carries a mount that is its source, and nothing that is mounted further below', async () => {
    await mkdir(place.source('disk'));
    execFileSync('mount', ['-t', 'tmpfs', 'none', place.source('disk')]);
    try {
      await mkdir(place.source('disk', 'below'));
      execFileSync('mount', ['-t', 'tmpfs', 'none', place.source('disk', 'below')]);
      await writeFile(place.source('disk', 'below', 'hidden'), '');
      await bind(place.source('disk'), place.target('s', 'work'));
      expect(await readdir(place.target('s', 'work'))).toEqual(['below']);
      expect(await readdir(place.target('s', 'work', 'below'))).toEqual([]);
      await place.mounts.unmount(place.target('s', 'work'));
    } finally {
      execFileSync('umount', ['--recursive', place.source('disk')]);
    }
  });

  test('is refused on what is mounted on already, and within it', async () => {
    await mkdir(place.source('work', 'sub'));
    await bind(place.source('work'), place.target('s', 'work'));
    const again = bind(place.source('inputs'), place.target('s', 'work'));
    await expect(again).rejects.toMatchObject(refusedAs('EBUSY', 'target'));
    const within = bind(place.source('inputs'), place.target('s', 'work', 'sub'));
    await expect(within).rejects.toMatchObject(refusedAs('EBUSY', 'target'));
    expect(await readdir(place.target('s', 'work'))).toEqual(['sub', 'work.txt']);
    await place.mounts.unmount(place.target('s', 'work'));
  });

  test('of two at once on one folder, one is made', async () => {
    for (let n = 0; n < 50; n++) {
      const both = await Promise.allSettled([
        bind(place.source('work'), place.target('s', 'work')),
        bind(place.source('inputs'), place.target('s', 'work')),
      ]);
      expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
      await place.mounts.unmount(place.target('s', 'work'));
      expect(await place.left()).toEqual([]);
    }
  });

  test('works on names of every kind, up to the longest', async () => {
    for (const name of ['a b', 'a\nb', 'a:b,c\\d', '数据 😀', '-rf', '...', 'a'.repeat(255)]) {
      await mkdir(place.source(name));
      await mkdir(place.target('s', name));
      await bind(place.source(name), place.target('s', name));
      expect(await place.left()).toEqual([place.target('s', name)]);
      await place.mounts.unmount(place.target('s', name));
      await rmdir(place.target('s', name));
    }
  });
});

whereFoldersAreMounted('a path', () => {
  test.each<[name: string, source: () => string, errno: string]>([
    ['of nothing', () => '', 'EINVAL'],
    ['relative', () => 'sources/work', 'EINVAL'],
    ['with dots', () => `${place.sources}/work/../inputs`, 'EINVAL'],
    ['with a dot', () => `${place.sources}/./work`, 'EINVAL'],
    ['with two slashes', () => `${place.sources}//work`, 'EINVAL'],
    ['with a slash at its end', () => `${place.sources}/work/`, 'EINVAL'],
    ['with a NUL', () => `${place.sources}/work\0`, 'EINVAL'],
    ['that is a root', () => place.sources, 'EACCES'],
    ['of the system', () => '/etc', 'EACCES'],
    ['that only begins as a root does', () => `${place.sources}-2`, 'EACCES'],
    ['below a root of targets', () => place.target('s', 'work'), 'EACCES'],
    ['that is not there', () => place.source('none'), 'ENOENT'],
    ['of a file', () => place.source('work', 'work.txt'), 'ENOTDIR'],
    ['below a file', () => place.source('work', 'work.txt', 'x'), 'ENOTDIR'],
    ['with too long a name', () => place.source('a'.repeat(256)), 'ENAMETOOLONG'],
    ['that is too long', () => place.source(...Array<string>(3000).fill('a')), 'ENAMETOOLONG'],
    ['that is huge', () => place.source('a'.repeat(70_000)), 'EINVAL'],
  ])('%s is no source', async (_, source, errno) => {
    await expect(bind(source(), place.target('s', 'work'))).rejects.toMatchObject({
      code: 'mount_failed',
      details: { errno },
    });
    expect(await place.left()).toEqual([]);
    // It goes on as if nothing was.
    await place.mounts.unmount(place.target('s', 'work'));
  });

  test.each<[name: string, target: () => string, errno: string]>([
    ['outside of the roots', () => place.source('work'), 'EACCES'],
    ['of the system', () => '/mnt', 'EACCES'],
    ['that is a root', () => place.targets, 'EACCES'],
    ['with dots', () => `${place.targets}/../sources/work`, 'EINVAL'],
    ['that is not there', () => place.target('none'), 'ENOENT'],
  ])('%s is no target', async (_, target, errno) => {
    await expect(bind(place.source('inputs'), target())).rejects.toMatchObject(refusedAs(errno, 'target'));
    if (target() !== place.targets) {
      await expect(place.mounts.unmount(target())).rejects.toMatchObject(refusedAs(errno, 'target'));
    }
    expect(await place.left()).toEqual([]);
  });

  test('with a link anywhere on its way leads nowhere', async () => {
    await symlink('/etc', place.source('outside'));
    await symlink(place.source('work'), place.source('inside'));
    await symlink(place.sources, place.source('up'));
    await symlink(place.source('work'), place.target('s', 'link'));
    await symlink('/etc', place.target('t'));
    for (const source of ['outside', 'inside', 'up/work', 'outside/apt']) {
      const refused = bind(place.source(source), place.target('s', 'work'));
      await expect(refused).rejects.toMatchObject(refusedAs('ELOOP', 'source'));
    }
    for (const target of ['s/link', 't/apt', 't']) {
      const refused = bind(place.source('work'), place.target(target));
      await expect(refused).rejects.toMatchObject(refusedAs('ELOOP', 'target'));
      await expect(place.mounts.unmount(place.target(target))).rejects.toMatchObject(
        refusedAs('ELOOP', 'target'),
      );
    }
  });
});

whereFoldersAreMounted('an overlay', () => {
  const layers = () => ({
    lower: [place.source('upper-version'), place.source('lower-version')],
    upper: place.source('upper'),
    work: place.source('overlay-work'),
    target: place.target('s', 'work'),
  });
  beforeEach(async () => {
    for (const name of ['upper-version', 'lower-version', 'upper', 'overlay-work'])
      await mkdir(place.source(name));
    await writeFile(place.source('upper-version', 'f'), 'above');
    await writeFile(place.source('lower-version', 'f'), 'below');
    await writeFile(place.source('lower-version', 'g'), 'below');
  });

  test('shows its folders as one, the topmost first, and keeps changes in the upper one', async () => {
    await place.mounts.overlay(layers());
    const at = (name: string) => place.target('s', 'work', name);
    expect([await readFile(at('f'), 'utf8'), await readFile(at('g'), 'utf8')]).toEqual(['above', 'below']);
    await writeFile(at('f'), 'changed');
    await rm(at('g'));
    await place.mounts.unmount(layers().target);
    expect(await readFile(place.source('upper', 'f'), 'utf8')).toBe('changed');
    expect(await readFile(place.source('upper-version', 'f'), 'utf8')).toBe('above');
    expect((await lstat(place.source('upper', 'g'))).isCharacterDevice()).toBe(true);
  });

  test('lets the sandbox user change, rename and remove what is theirs in a lower folder', async () => {
    for (const path of [
      place.source('lower-version'),
      place.source('lower-version', 'g'),
      place.source('upper'),
    ])
      await chown(path, 1000, 1000);
    await place.mounts.overlay(layers());
    // An overlay writes with the rights of the program that mounted it.
    const script = 'cd "$1" && echo more >>g && mv g h && mkdir d && echo x >d/x && rm h && chmod 700 d';
    execFileSync('sh', ['-c', script, 'sh', layers().target], { uid: 1000, gid: 1000 });
    await place.mounts.unmount(layers().target);
    expect((await lstat(place.source('upper', 'd', 'x'))).uid).toBe(1000);
    expect((await lstat(place.source('upper', 'g'))).isCharacterDevice()).toBe(true);
  });

  test('has options that follow nothing out of its folders, and no setuid', async () => {
    await place.mounts.overlay({ ...layers(), readOnly: true });
    const line = (await readFile('/proc/self/mountinfo', 'utf8'))
      .split('\n')
      .find((row) => row.includes('/s/work '));
    expect(line).toMatch(/ ro,nosuid,nodev,\S+ .*- overlay overlay .*upperdir=/);
    expect(line).not.toMatch(/metacopy=on|redirect_dir=on|index=on/);
    await place.mounts.unmount(layers().target);
  });

  test('of folders that are missing, linked, too many or outside is none', async () => {
    const make = (changes: object) => place.mounts.overlay({ ...layers(), ...changes });
    await symlink('/etc', place.source('link'));
    await expect(make({ lower: [] })).rejects.toMatchObject(refusedAs('EINVAL', 'request'));
    await expect(make({ lower: Array(9).fill(place.source('work')) })).rejects.toMatchObject(
      refusedAs('EINVAL', 'request'),
    );
    await expect(make({ lower: ['/etc'] })).rejects.toMatchObject(refusedAs('EACCES', 'source'));
    await expect(make({ lower: [place.source('link')] })).rejects.toMatchObject(refusedAs('ELOOP', 'source'));
    await expect(make({ upper: place.source('none') })).rejects.toMatchObject(refusedAs('ENOENT', 'source'));
    await expect(make({ work: '/tmp' })).rejects.toMatchObject(refusedAs('EACCES', 'source'));
    await expect(make({ target: place.source('work') })).rejects.toMatchObject(refusedAs('EACCES', 'target'));
    expect(await place.left()).toEqual([]);
  });

  test('takes as many lower folders as are allowed', async () => {
    const lower = Array.from({ length: 8 }, (_, n) => place.source(`v${n}`));
    for (const [n, path] of lower.entries()) {
      await mkdir(path);
      await writeFile(join(path, `f${n}`), '');
    }
    await place.mounts.overlay({ ...layers(), lower });
    expect(await readdir(layers().target)).toHaveLength(8);
    await place.mounts.unmount(layers().target);
  });
});

whereFoldersAreMounted('a root of targets', () => {
  test('becomes a shared mount once, of its own group', async () => {
    await place.mounts.share(place.targets);
    await place.mounts.share(place.targets);
    expect(await place.left()).toEqual([place.targets]);
    expect(await mountOptions(place.targets)).toMatch(/^rw,nosuid,nodev\S* shared:\d+$/);
    await bind(place.source('work'), place.target('s', 'work'));
    expect(await readdir(place.target('s', 'work'))).toEqual(['work.txt']);
    // What is mounted at the source later is none of the slot's business, nor the other way round.
    await mkdir(place.source('work', 'later'));
    execFileSync('mount', ['-t', 'tmpfs', 'none', place.source('work', 'later')]);
    expect((await place.left()).sort()).toEqual(
      [place.targets, place.target('s', 'work'), place.source('work', 'later')].sort(),
    );
    execFileSync('umount', [place.source('work', 'later')]);
    await place.mounts.unmount(place.target('s', 'work'));
  });

  test('that somebody unmounted takes nothing that no container would see, until it is shared again', async () => {
    await place.mounts.share(place.targets);
    execFileSync('umount', [place.targets]);
    for (let n = 0; n < 2; n++) {
      const bound = bind(place.source('work'), place.target('s', 'work'));
      await expect(bound).rejects.toMatchObject(refusedAs('ESTALE', 'target'));
    }
    await place.mounts.unmount(place.target('s', 'work'));
    await place.mounts.share(place.targets);
    await bind(place.source('work'), place.target('s', 'work'));
    await place.mounts.unmount(place.target('s', 'work'));
  });

  test('is shared for the program that takes over from one that was killed', async () => {
    await place.mounts.share(place.targets);
    process.kill(place.mounts.pid ?? 0, 'SIGKILL');
    while (
      await place.mounts.unmount(place.target('s', 'work')).then(
        () => false,
        () => true,
      )
    );
    execFileSync('umount', [place.targets]);
    const bound = bind(place.source('work'), place.target('s', 'work'));
    await expect(bound).rejects.toMatchObject(refusedAs('ESTALE', 'target'));
  });

  test('is the only thing that is shared', async () => {
    for (const path of [place.target('s'), place.sources, '/'])
      await expect(place.mounts.share(path)).rejects.toMatchObject({ code: 'mount_failed' });
    expect(await place.left()).toEqual([]);
  });

  test('goes with all that is mounted below it', async () => {
    await place.mounts.share(place.targets);
    await bind(place.source('work'), place.target('s', 'work'));
    await place.mounts.unmount(place.targets);
    expect(await place.left()).toEqual([]);
    expect(await readdir(place.source('work'))).toEqual(['work.txt']);
  });
});

whereFoldersAreMounted('without the program', () => {
  const opened = (program: string | undefined, targets = place.targets) =>
    openHostMounts({ program, roots: { sources: [place.sources], targets: [targets] }, logger: silent });
  const because = (reason: string) => ({
    available: false,
    reason: expect.stringContaining(reason) as unknown,
  });

  test('there is a reason', async () => {
    const program = join(place.root, 'program');
    expect(await opened(undefined)).toEqual(because('SECBOX_MOUNTS_PROGRAM'));
    expect(await opened(program)).toEqual(because('there is no'));
    expect(await opened(place.root)).toEqual(because('is no file'));
    await copyFile(mountsProgram(), program);
    await chmod(program, 0o777);
    expect(await opened(program)).toEqual(because('others than root may write'));
    await chmod(program, 0o755);
    await symlink(program, `${program}-link`);
    expect(await opened(`${program}-link`)).toEqual(because('is no file'));
    await chmod(program, 0o600);
    expect(await opened(program)).toEqual(because('EACCES'));
    await writeFile(program, '#!/bin/sh\necho "secbox-mounts: no" >&2; exit 71\n');
    await chmod(program, 0o755);
    expect(await opened(program)).toEqual(because('secbox-mounts: no'));
    await writeFile(program, '#!/bin/sh\nexec yes\n');
    expect(await opened(program)).toEqual(because('is none'));
  });

  test('roots must be there, absolute, and behind no link', async () => {
    await symlink(place.root, place.target('link'));
    for (const root of [
      'slots',
      `${place.root}/none/slots`,
      place.target('link', 'slots'),
      `${place.root}/../x`,
      '/',
    ])
      expect(await opened(mountsProgram(), root)).toEqual(because('a root cannot be opened'));
  });
});
