import { expect, test } from '@jest/globals';
import { remembered } from './remembered.js';

test('works a result out once, also one that is undefined', () => {
  const asked: string[] = [];
  const lengthOf = remembered((text) => {
    asked.push(text);
    return text === '' ? undefined : text.length;
  });
  expect([lengthOf('ab'), lengthOf(''), lengthOf('ab'), lengthOf('')]).toEqual([2, undefined, 2, undefined]);
  expect(asked).toEqual(['ab', '']);
});

test('keeps neither long texts nor more than so many', () => {
  let asked = 0;
  const same = remembered((text) => {
    asked += 1;
    return text;
  });
  const long = 'x'.repeat(201);
  for (let n = 0; n < 2; n += 1) expect(same(long)).toBe(long);
  expect(asked).toBe(2);
  for (let n = 0; n < 5000; n += 1) same(`${n}`);
  expect(same('0')).toBe('0');
  expect(asked).toBe(2 + 5000 + 1);
});
