import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Authentication } from './api-keys.js';
import { newKeyToken } from './api-key-token.js';
import { KeyTries, networkOf, triesPerMinute } from './key-tries.js';
import { everyone } from './principal.js';

const here = '10.0.0.1';
const wrong = newKeyToken().token;
let now: number;
let valid: Set<string>;
let lookups: number;
let tries: KeyTries;
beforeEach(() => {
  [now, lookups, valid] = [0, 0, new Set([newKeyToken().token])];
  const authenticate = (text: string | undefined): Promise<Authentication> => {
    lookups += 1;
    const found = text !== undefined && valid.has(text);
    return Promise.resolve(found ? { principal: everyone } : { refused: 'unknown' });
  };
  tries = new KeyTries({ authenticate }, () => now);
});

const tryOften = async (times: number, text: string | undefined = wrong) => {
  const answers = [];
  for (let n = 0; n < times; n += 1) answers.push(await tries.authenticate(text, here));
  return answers;
};
const key = () => [...valid][0] ?? '';

describe('tries of keys', () => {
  test('are answered so many times a minute, and past that not looked up', async () => {
    const answers = await tryOften(triesPerMinute + 100);
    expect(answers.filter((answer) => 'refused' in answer)).toHaveLength(triesPerMinute);
    expect(answers.at(-1)).toEqual({ retryAfterSeconds: 1 });
    expect(lookups).toBe(triesPerMinute);
    now = 1000;
    expect((await tryOften(2)).map((answer) => 'refused' in answer)).toEqual([true, false]);
    expect(await tries.authenticate(wrong, '10.0.0.2')).toEqual({ refused: 'unknown' });
  });

  test('all at once are no way around it, nor is none at all', async () => {
    const texts = [undefined, '', 'x', wrong];
    const all = Array.from({ length: 400 }, (_, n) => tries.authenticate(texts[n % 4], here));
    const refused = (await Promise.all(all)).filter((answer) => 'refused' in answer);
    expect(refused).toHaveLength(triesPerMinute);
  });

  test('keep nobody out whose key has held before; a new one waits', async () => {
    expect(await tries.authenticate(key(), here)).toHaveProperty('principal');
    await tryOften(triesPerMinute * 2);
    for (let n = 0; n < 10; n += 1) expect(await tries.authenticate(key(), here)).toHaveProperty('principal');
    const { token } = newKeyToken();
    valid.add(token);
    expect(await tries.authenticate(token, here)).toEqual({ retryAfterSeconds: 1 });
    now = 1000;
    expect(await tries.authenticate(token, here)).toHaveProperty('principal');
  });

  test('are not what many keys are that hold', async () => {
    for (let n = 0; n < triesPerMinute * 3; n += 1) {
      const { token } = newKeyToken();
      valid.add(token);
      expect(await tries.authenticate(token, here)).toHaveProperty('principal');
    }
  });

  test('with a key that held once count from when it is refused', async () => {
    const lost = key();
    expect(await tries.authenticate(lost, here)).toHaveProperty('principal');
    valid.clear();
    const answers = await tryOften(triesPerMinute + 1, lost);
    expect(answers.filter((answer) => 'refused' in answer)).toHaveLength(triesPerMinute);
    expect(answers.at(-1)).toEqual({ retryAfterSeconds: 1 });
  });
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:0DB8:1:2::9', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['not an address', 'unknown'],
  [null, 'unknown'],
])('%s is of the network %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
