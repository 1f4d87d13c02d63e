import { expect, test } from '@jest/globals';
import { SharedLock } from './shared-lock.js';

function controlled() {
  const lock = new SharedLock();
  const happened: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => async () => {
    happened.push(`${name} begins`);
    await new Promise<void>((resolve) => ends.set(name, resolve));
    happened.push(`${name} ends`);
  };
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const end = async (name: string) => {
    ends.get(name)?.();
    await settled();
  };
  return { lock, happened, work, end, settled };
}

test('many share, one is alone, and who comes later waits behind it', async () => {
  const { lock, happened, work, end, settled } = controlled();
  void lock.shared(work('a'));
  void lock.shared(work('b'));
  void lock.alone(work('c'));
  void lock.shared(work('d'));
  void lock.alone(work('e'));
  await settled();
  expect(happened).toEqual(['a begins', 'b begins']);
  await end('b');
  await end('a');
  expect(happened.slice(2)).toEqual(['b ends', 'a ends', 'c begins']);
  await end('c');
  expect(happened.slice(5)).toEqual(['c ends', 'd begins']);
  await end('d');
  expect(happened.slice(7)).toEqual(['d ends', 'e begins']);
  await end('e');
});

test('a failure is told to whoever it concerns, and holds up nobody', async () => {
  const lock = new SharedLock();
  const fail = () => Promise.reject(new Error('no'));
  await expect(lock.shared(fail)).rejects.toThrow('no');
  await expect(lock.alone(fail)).rejects.toThrow('no');
  await expect(lock.shared(() => Promise.resolve(1))).resolves.toBe(1);
  await expect(lock.alone(() => Promise.resolve(2))).resolves.toBe(2);
});
