import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { Directory, type OpenFile } from '@secbox/workspace';
import { OutputFile } from './output-file.js';
import { Progress } from './progress.js';

let path: string;
let folder: Directory;
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'secbox-output-'));
  folder = Directory.open(path);
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
});
afterEach(async () => {
  jest.useRealTimers();
  folder.close();
  await rm(path, { recursive: true });
});

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const failing = (code: string) => Object.assign(new Error(code), { code });
const kept = () => readFile(join(path, 'out'), 'utf8');

/** A file on a disk that has room for so many bytes. */
async function open(room: { bytes: number }, limit = 100, code = 'ENOSPC') {
  const told: unknown[] = [];
  const cramped = {
    createFile: (name: string, mode: number) => {
      const file = folder.createFile(name, mode);
      const append = file.append.bind(file);
      file.append = async (data) => {
        const fits = data.subarray(0, room.bytes);
        room.bytes -= fits.length;
        await append(fits);
        if (fits.length < data.length) throw failing(code);
      };
      return file satisfies OpenFile;
    },
  } as unknown as Directory;
  const file = await OutputFile.create(cramped, 'out', limit, new Progress(), (error) => told.push(error));
  return { file, told };
}

async function isPending(work: Promise<unknown>): Promise<boolean> {
  let pending = true;
  void work.then(() => (pending = false));
  await jest.advanceTimersByTimeAsync(5000);
  return pending;
}

test.each(['ENOSPC', 'EDQUOT'])(
  'what a disk has no room for (%s) is kept, exactly, once it has',
  async (code) => {
    const room = { bytes: 3 };
    const { file, told } = await open(room, 100, code);
    const appended = file.append(Buffer.from('abcdef'));
    expect(await isPending(appended)).toBe(true);
    room.bytes = 2;
    expect(await isPending(appended)).toBe(true);
    expect(await kept()).toBe('abcde');
    room.bytes = 10;
    expect(await isPending(appended)).toBe(false);
    await file.append(Buffer.from('ghi'));
    expect(told).toHaveLength(1);
    expect(file.beginning).toBe('abcdefghi');
    expect(file.close()).toEqual({ size: 9, sha256: sha256('abcdefghi'), truncated: false });
    expect(await kept()).toBe('abcdefghi');
  },
);

test('when the program is to end, what there is no room for is cut off, and nothing follows the gap', async () => {
  const room = { bytes: 3 };
  const { file } = await open(room);
  const appended = file.append(Buffer.from('abcdef'));
  expect(await isPending(appended)).toBe(true);
  file.hurry();
  await appended;
  room.bytes = 10;
  await file.append(Buffer.from('ghi'));
  expect(file.beginning).toBe('abc');
  expect(file.close()).toEqual({ size: 3, sha256: sha256('abc'), truncated: true });
  expect(await kept()).toBe('abc');
});

test('what there is room for is kept to the end', async () => {
  const { file } = await open({ bytes: 10 }, 5);
  file.hurry();
  await file.append(Buffer.from('abc'));
  await file.append(Buffer.from('def'));
  expect(file.close()).toEqual({ size: 5, sha256: sha256('abcde'), truncated: true });
  expect(await kept()).toBe('abcde');
});

test('another fault of the disk is told as it is', async () => {
  const { file } = await open({ bytes: 0 }, 100, 'EIO');
  await expect(file.append(Buffer.from('abc'))).rejects.toMatchObject({ code: 'EIO' });
  file.close();
});
