import { expect, test } from '@jest/globals';
import { defaultTenant } from '@secbox/contracts';
import { UploadsAtOnce } from './uploads-at-once.js';

const by = (actor: string | null) => ({ tenant: defaultTenant, actor });
const large = 2 * 1024 ** 2;
const tooMany = (most: number) =>
  expect.objectContaining({
    code: 'too_many_uploads',
    details: { most, retry_after_seconds: 2 },
  });

/** Some that go on until they are told to end. */
function underWay(uploads: UploadsAtOnce, actors: readonly (string | null)[]) {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const running = Promise.all(actors.map((actor) => uploads.run(by(actor), Infinity, () => ended)));
  return async () => {
    end();
    await running;
  };
}

const done = () => Promise.resolve('done');

test('one key, and all together, send only so many at once', async () => {
  const uploads = new UploadsAtOnce({ ofOne: 2, ofAll: 3 });
  const end = underWay(uploads, ['a', 'a']);
  await expect(uploads.run(by('a'), large, done)).rejects.toEqual(tooMany(2));
  await expect(uploads.run(by('b'), large, done)).resolves.toBe('done');
  const endOther = underWay(uploads, [null]);
  await expect(uploads.run(by('b'), large, done)).rejects.toEqual(tooMany(3));
  await endOther();
  await end();
  await underWay(uploads, ['a', 'a', 'b'])();
});

test('a small file is not counted, and one that fails is over', async () => {
  const uploads = new UploadsAtOnce({ ofOne: 1, ofAll: 1 });
  const failing = uploads.run(by('a'), large, () => Promise.reject(new Error('cut off')));
  await expect(uploads.run(by('a'), 1000, done)).resolves.toBe('done');
  await expect(failing).rejects.toThrow('cut off');
  await expect(uploads.run(by('a'), large, done)).resolves.toBe('done');
});
