import { expect, test } from '@jest/globals';
import { maxValues, refuseManyValues } from './json-size.js';

const refused = (json: string): boolean => {
  try {
    refuseManyValues(Buffer.from(json));
    return false;
  } catch (error) {
    expect(error).toMatchObject({ code: 'body_too_large', details: { limit_values: maxValues } });
    return true;
  }
};
const many = maxValues + 1;

test.each([
  ['numbers', `[${'0,'.repeat(many)}0]`],
  ['objects', `[${'{},'.repeat(many)}{}]`],
  ['keys', `{${'"a":0,'.repeat(many)}"a":0}`],
  ['lists within lists', '['.repeat(many)],
  ['empty strings', `[${'"",'.repeat(many)}""]`],
  ['a string that ends with an escaped backslash, and numbers', `["\\\\",${'0,'.repeat(many)}0]`],
])('too many %s are refused', (_, json) => {
  expect(refused(json)).toBe(true);
});

test.each([
  ['as many as are allowed', `[${'0,'.repeat(maxValues - 1)}0]`],
  ['commas in a string', `["${',:[{'.repeat(many)}"]`],
  ['commas behind an escaped quote', `["\\"${','.repeat(many)}"]`],
  ['commas behind an escaped backslash and quote', `["\\\\\\"${','.repeat(many)}"]`],
  ['a string without an end', `["${','.repeat(many)}`],
  ['spaces', ' '.repeat(many)],
])('%s are not', (_, json) => {
  expect(refused(json)).toBe(false);
});
