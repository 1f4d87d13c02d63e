import { execFileSync } from 'node:child_process';
import { mkdir, open, readdir, readFile, rm, rmdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { newSlotId, type MountSource, type WorkspaceMounts } from '@secbox/workspace';
import { openSlots, type Slots } from './slots.js';
import { MountingPlace, silent } from './testing/mounting-place.js';

const whereFoldersAreMounted =
  process.platform === 'linux' && process.getuid?.() === 0 ? describe : describe.skip;

let place: MountingPlace;
let slots: Slots;
let sources: WorkspaceMounts;
beforeEach(async () => {
  place = await MountingPlace.open();
  sources = await place.makeSources();
  slots = await openSlots({ mounts: place.mounts, root: place.targets, logger: silent });
});
afterEach(async () => {
  expect(await place.close()).toEqual([]);
});

const kept = async () => {
  for (const name of ['inputs', 'work', 'artifacts'])
    expect(await readFile(place.source(name, `${name}.txt`), 'utf8')).toBe(name);
};

whereFoldersAreMounted('a slot', () => {
  test('is empty, shows its folders when it is filled, and leaves nothing behind', async () => {
    const slot = await slots.make(newSlotId());
    const folders = [slot.inputs, slot.work, slot.artifacts];
    for (const folder of folders) {
      expect(await readdir(folder)).toEqual([]);
      expect(await stat(folder)).toMatchObject({ uid: 0, gid: 0, mode: 0o40755 });
    }
    await slot.fill(sources);
    expect(await Promise.all(folders.map((folder) => readdir(folder)))).toEqual([
      ['inputs.txt'],
      ['work.txt'],
      ['artifacts.txt'],
    ]);
    await expect(writeFile(join(slot.inputs, 'f'), '')).rejects.toMatchObject({ code: 'EROFS' });
    await writeFile(join(slot.work, 'f'), 'through');
    await slot.empty();
    expect(await Promise.all(folders.map((folder) => readdir(folder)))).toEqual([[], [], []]);
    await slot.remove();
    await slot.remove();
    expect(await readdir(place.targets)).toEqual([]);
    expect(await readFile(place.source('work', 'f'), 'utf8')).toBe('through');
    await kept();
  });

  test('shows work read-only to whom that is promised', async () => {
    const slot = await slots.make(newSlotId());
    await slot.fill({ ...sources, readOnlyWork: true });
    expect(await readdir(slot.work)).toEqual(['work.txt']);
    await expect(writeFile(join(slot.work, 'f'), '')).rejects.toMatchObject({ code: 'EROFS' });
    await writeFile(join(slot.artifacts, 'f'), '');
    await slot.remove();
    await kept();
  });

  test('is filled once: of many who try at the same time, and of those who try again', async () => {
    const slot = await slots.make(newSlotId());
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => slot.fill(sources)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', ...Array<string>(7).fill('rejected')]);
    expect((await place.left()).filter((point) => point !== place.targets)).toHaveLength(3);
    await slot.empty();
    await expect(slot.fill(sources)).rejects.toMatchObject({ code: 'mount_failed' });
    expect(await place.left()).toEqual([place.targets]);
    await slot.remove();
  });

  test('that is emptied while it is being filled is empty', async () => {
    for (let n = 0; n < 50; n++) {
      const slot = await slots.make(newSlotId());
      const filled = slot.fill(sources);
      await Promise.all([slot.remove(), slot.remove(), filled.catch(() => undefined)]);
      expect(await place.left()).toEqual([place.targets]);
      expect(await readdir(place.targets)).toEqual([]);
    }
    await kept();
  });

  test('of which one folder cannot be filled has none', async () => {
    for (const [name, source] of [
      ['artifacts', place.source('none')],
      ['inputs', '/etc'],
      ['work', place.source('work', 'work.txt')],
    ] as const) {
      const slot = await slots.make(newSlotId());
      const filled = slot.fill({ ...sources, [name]: source as MountSource });
      await expect(filled).rejects.toMatchObject({ code: 'mount_failed', details: { step: 'source' } });
      expect(await place.left()).toEqual([place.targets]);
      await slot.remove();
    }
    await kept();
  });

  test('shows work that is a disk of its own', async () => {
    await mkdir(place.source('disk'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', place.source('disk')]);
    try {
      const slot = await slots.make(newSlotId());
      await slot.fill({ ...sources, work: place.source('disk') as MountSource });
      await expect(writeFile(join(slot.work, 'f'), Buffer.alloc(2 ** 21))).rejects.toMatchObject({
        code: 'ENOSPC',
      });
      await slot.remove();
      // The slot holds nothing of it any more.
      expect(await readdir(place.source('disk'))).toEqual(['f']);
    } finally {
      execFileSync('umount', [place.source('disk')]);
    }
  });

  test('that somebody still uses goes all the same, and they keep what they have open', async () => {
    const slot = await slots.make(newSlotId());
    await slot.fill(sources);
    const user = await open(join(slot.work, 'work.txt'));
    await slot.remove();
    expect(await readdir(place.targets)).toEqual([]);
    expect(await user.readFile('utf8')).toBe('work');
    await user.close();
  });

  test('into which somebody put something of their own is not removed', async () => {
    const slot = await slots.make(newSlotId());
    await writeFile(join(slot.work, 'theirs'), 'kept');
    await expect(slot.remove()).rejects.toMatchObject({ code: 'ENOTEMPTY' });
    expect(await readFile(join(slot.work, 'theirs'), 'utf8')).toBe('kept');
    await rm(join(slot.work, 'theirs'));
    await slot.remove();
  });

  test('is made once', async () => {
    const id = newSlotId();
    const both = await Promise.allSettled([slots.make(id), slots.make(id)]);
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    const other = await openSlots({ mounts: place.mounts, root: place.targets, logger: silent });
    await expect(other.make(id)).rejects.toMatchObject({ code: 'mount_failed' });
    await slots.close();
  });
});

whereFoldersAreMounted('the slots', () => {
  test('of a server that is gone are swept; those in use are not', async () => {
    const [left, live, mine] = [newSlotId(), newSlotId(), newSlotId()];
    const before = await openSlots({ mounts: place.mounts, root: place.targets, logger: silent });
    for (const id of [left, live]) await (await before.make(id)).fill(sources);
    await (await slots.make(mine)).fill(sources);
    expect(await slots.sweep(new Set([live]))).toEqual({ removed: 1, stuck: [] });
    expect((await readdir(place.targets)).sort()).toEqual([live, mine].sort());
    expect((await place.left()).filter((point) => point.includes(left))).toEqual([]);
    expect((await place.left()).filter((point) => point.includes(live))).toHaveLength(3);
    expect(await slots.sweep()).toEqual({ removed: 1, stuck: [] });
    await slots.close();
    await kept();
  });

  test('are swept from whatever step they were left in', async () => {
    const half = newSlotId();
    await mkdir(place.target(half, 'inputs'), { recursive: true });
    await mkdir(place.target(newSlotId()));
    const stacked = newSlotId();
    for (const name of ['inputs', 'work', 'artifacts'])
      await mkdir(place.target(stacked, name), { recursive: true });
    await place.mounts.bind({ source: sources.work, target: place.target(stacked, 'work'), readOnly: false });
    for (let n = 0; n < 3; n++)
      execFileSync('mount', ['--bind', sources.inputs, place.target(stacked, 'work')]);
    expect(await slots.sweep()).toEqual({ removed: 3, stuck: [] });
    expect(await place.left()).toEqual([place.targets]);
    await kept();
  });

  test('leave what is none of them as it is', async () => {
    await writeFile(place.target('file'), '');
    await mkdir(place.target('other', 'things'), { recursive: true });
    await symlink(place.sources, place.target('link'));
    const { removed, stuck } = await slots.sweep();
    expect([removed, [...stuck].sort()]).toEqual([0, ['file', 'link', 'other']]);
    await kept();
    // And the rest is swept beside them.
    await mkdir(place.target(newSlotId()));
    expect((await slots.sweep()).removed).toBe(1);
  });

  test('made while somebody sweeps are kept', async () => {
    const making = Array.from({ length: 20 }, () => slots.make(newSlotId()));
    await Promise.all([slots.sweep(), slots.sweep(), slots.sweep()]);
    await Promise.all(making);
    expect(await readdir(place.targets)).toHaveLength(20);
    await slots.close();
  });

  test('are opened again and again, and closed with all that is in them', async () => {
    const again = await openSlots({ mounts: place.mounts, root: place.targets, logger: silent });
    expect(await place.left()).toEqual([place.targets]);
    for (let n = 0; n < 3; n++) await (await again.make(newSlotId())).fill(sources);
    await again.close();
    expect(await place.left()).toEqual([]);
    expect(await readdir(place.targets)).toEqual([]);
    await kept();
  });

  test("are made only in a folder of root's", async () => {
    await slots.close();
    await rmdir(place.targets);
    await symlink(place.sources, place.targets);
    const opened = openSlots({ mounts: place.mounts, root: place.targets, logger: silent });
    await expect(opened).rejects.toMatchObject({ code: 'mount_failed' });
    await rm(place.targets);
    slots = await openSlots({ mounts: place.mounts, root: place.targets, logger: silent });
    expect(await stat(place.targets)).toMatchObject({ mode: 0o40700 });
  });
});
