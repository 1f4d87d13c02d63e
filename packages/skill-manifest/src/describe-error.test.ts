import { expect, test } from '@jest/globals';
import type { ErrorObject } from 'ajv';
import { describeErrors } from './describe-error.js';
import { shown } from './problem.js';

/** As large as one likes: who looks into it is told. */
const untouchable = new Proxy(
  {},
  {
    ownKeys: () => {
      throw new Error('It was looked into.');
    },
  },
);
const long = 'x'.repeat(100);

test.each([
  [undefined, 'nothing'],
  [null, 'null'],
  ['a"b', '"a\\"b"'],
  [[1, [{}], { a: [], b: 'c' }], '[1,[{}],{"a":[],"b":"c"}]'],
  [Array.from({ length: 40 }, () => 1), `[${'1,'.repeat(39)}1]`.slice(0, 80) + '…'],
  [long, `"${long.slice(0, 79)}…`],
  [{ [long]: 1 }, `{"${long.slice(0, 78)}…`],
  [[long, untouchable], `["${long.slice(0, 78)}…`],
  [{ [long]: 1, b: untouchable }, `{"${long.slice(0, 78)}…`],
])('a value (%#) is shown short, and no more of it is looked at', (value, text) => {
  expect(shown(value)).toBe(text);
});

test('what is not told is not looked at', () => {
  const error = (keyword: string, params: object): ErrorObject => ({
    keyword,
    params,
    instancePath: '',
    schemaPath: '',
    data: untouchable,
  });
  const problems = describeErrors(
    [
      error('additionalProperties', { additionalProperty: 'b' }),
      error('unevaluatedProperties', { unevaluatedProperty: 'c' }),
      error('required', { missingProperty: 'a' }),
    ],
    20,
  );
  expect(problems.map(({ pointer }) => pointer)).toEqual(['/b', '/c', '']);
});
