import { expect, test } from '@jest/globals';
import { outputOf } from './skill-output.js';

const asJson = (text: string) => outputOf(Buffer.from(text), { isFile: true, outputs: {} });
const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

test('an output that nobody could write or read again is none', () => {
  expect(asJson(nested(256))).toBeDefined();
  expect(asJson(nested(257))).toBeUndefined();
  expect(asJson('{"a":'.repeat(100_000))).toBeUndefined();
  const flat = JSON.stringify(['[{'.repeat(1000), '"\\["', { a: [] }]);
  expect(asJson(flat)).toEqual({ value: JSON.parse(flat) as unknown });
});

test('text is as deep as it likes', () => {
  const text = nested(1000);
  expect(outputOf(Buffer.from(text), { isFile: false, outputs: { type: 'string' } })).toEqual({
    value: text,
  });
});
