import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { SecboxError } from '@secbox/contracts';
import type { EngineImage } from '@secbox/container-engine';
import { KnownImage } from './known-image.js';

const image = (id: string): EngineImage => ({ id, labels: {}, environment: {} });

describe('an image that execs run in', () => {
  let has: EngineImage | undefined | Error;
  let asked: number;
  let known: KnownImage;

  beforeEach(() => {
    jest.useFakeTimers();
    has = image('one');
    asked = 0;
    const findImage = () => {
      asked += 1;
      return has instanceof Error ? Promise.reject(has) : Promise.resolve(has);
    };
    known = new KnownImage({ findImage }, 'secbox/sandbox:latest');
  });

  afterEach(() => {
    known.forget();
    jest.useRealTimers();
  });

  test('is asked for by the first exec, and beside those that follow', async () => {
    expect(await known.find()).toEqual(image('one'));
    for (let second = 1; second <= 10; second += 1) {
      await jest.advanceTimersByTimeAsync(1000);
      const before = asked;
      expect(await known.find()).toEqual(image('one'));
      expect(asked).toBe(before);
    }
    expect(asked).toBe(11);
  });

  test('that is made anew is used by what comes two seconds later at most', async () => {
    await known.find();
    has = image('two');
    await jest.advanceTimersByTimeAsync(2000);
    expect(await known.find()).toEqual(image('two'));
  });

  test('is not asked for while nothing runs', async () => {
    await known.find();
    await jest.advanceTimersByTimeAsync(3_600_000);
    expect(asked).toBeLessThan(65);
    has = image('two');
    expect(await known.find()).toEqual(image('two'));
  });

  test.each([
    ['that is gone', undefined, 'image_missing'],
    ['of an engine that is gone', new SecboxError('engine_unavailable', 'It is gone.'), 'engine_unavailable'],
  ])('%s is told to the next exec, and found again when it is back', async (_, answer, code) => {
    await known.find();
    has = answer;
    await jest.advanceTimersByTimeAsync(1500);
    await expect(known.find()).rejects.toMatchObject({ code });
    has = image('two');
    expect(await known.find()).toEqual(image('two'));
  });
});
