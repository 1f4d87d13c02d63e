import { beforeEach, expect, test } from '@jest/globals';
import { SandboxRoom } from './sandbox-room.js';

let now: number;
let onDisk: { bytes: number; entries: number };
let measured: number;
let room: SandboxRoom;
beforeEach(() => {
  now = 1_000_000;
  onDisk = { bytes: 0, entries: 1 };
  measured = 0;
  room = new SandboxRoom({
    measure: () => {
      measured += 1;
      return Promise.resolve(onDisk);
    },
    limit: () => ({ bytes: 100_000, entries: 20 }),
    now: () => now,
  });
});

const add = (bytes: number, stamp = 1, path = 'f') => room.reserve('/sandbox', { path, bytes }, stamp);
const addBesideExec = () => room.reserve('/sandbox', { path: 'f', bytes: 1 }, undefined);
const full = expect.objectContaining({ code: 'storage_full' });

test('is measured once, and counted from then on', async () => {
  for (let n = 0; n < 5; n += 1) await add(1000);
  expect(measured).toBe(1);
});

test('is measured again before anything is refused, as things may have been removed', async () => {
  await add(90_000);
  // Written and removed again: the disk knows, the count does not.
  await add(90_000);
  expect(measured).toBe(2);
  onDisk = { bytes: 90_000, entries: 2 };
  await expect(add(10_001)).rejects.toEqual(full);
  await expect(add(10_001)).rejects.toMatchObject({ details: { taken: 90_000, most: 100_000 } });
  await add(10_000);
});

test('counts files, and the folders above them', async () => {
  onDisk = { bytes: 0, entries: 20 };
  await expect(add(0)).rejects.toEqual(full);
  onDisk = { bytes: 0, entries: 10 };
  await add(0, 1, 'a/b/c/d/e/f/g/h/i/j');
  expect(measured).toBe(2);
  onDisk = { bytes: 0, entries: 20 };
  await expect(add(0)).rejects.toEqual(full);
});

test('is measured after an exec, and while there is one, once a second', async () => {
  await add(1);
  await add(1, 2);
  expect(measured).toBe(2);
  now += 5000;
  await addBesideExec();
  now += 500;
  await addBesideExec();
  expect(measured).toBe(3);
  now += 600;
  await addBesideExec();
  expect(measured).toBe(4);
});
