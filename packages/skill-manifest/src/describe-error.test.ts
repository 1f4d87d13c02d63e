import { expect, test } from '@jest/globals';
import type { ErrorObject } from 'ajv';
import { describeErrors } from './describe-error.js';
import { fileInputSchema } from './file-inputs.js';
import type { JsonSchema } from './manifest.js';
import { shown } from './problem.js';
import { SchemaCompiler } from './schema-compiler.js';

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

const told = (schema: JsonSchema, value: unknown) =>
  new SchemaCompiler()
    .compile(schema)(value)
    .map(({ pointer, message, expected, suggestion }) => ({
      pointer,
      message,
      expected,
      suggestion,
    }));

test('of alternatives, the one that was most likely meant is explained', () => {
  const artifact = { exec_id: '2c1e0f3a-9a55-4d3e-8b0a-0d6f6f1f2a11', path: 'a.csv', sha265: 'x' };
  const schema = { type: 'object', properties: { files: { type: 'array', items: fileInputSchema } } };
  expect(told(schema, { files: [{ content: 'a' }, artifact, { content: 1 }] })).toEqual([
    {
      pointer: '/files/1/sha265',
      message: '"sha265" is not a known key',
      expected: 'one of name, exec_id, path, sha256',
      suggestion: 'sha256',
    },
    { pointer: '/files/2/content', message: 'has the wrong type', expected: 'string', suggestion: undefined },
  ]);
});

test('of very many errors only the first are looked at', () => {
  const schema = { type: 'array', items: fileInputSchema };
  const check = new SchemaCompiler().compile(schema);
  const began = performance.now();
  expect(check(Array.from({ length: 10_000 }, () => ({})))).toHaveLength(20);
  expect(performance.now() - began).toBeLessThan(5000);
});

const wrong = (instancePath: string, schemaPath: string, more: object = {}): ErrorObject => ({
  keyword: 'minimum',
  params: {},
  instancePath,
  schemaPath,
  ...more,
});

test('however many errors there are, alternatives are looked through once', () => {
  let looked = 0;
  const branch = new Proxy(
    { properties: { a: { $ref: '#/$defs/a' } } },
    {
      ownKeys: (target) => {
        looked += 1;
        return Reflect.ownKeys(target);
      },
    },
  );
  const anyOf = [branch];
  const errors = Array.from({ length: 1000 }, (_, n) => [
    wrong(`/${n}/a`, '#/$defs/a/minimum'),
    wrong(`/${n}`, '#/items/anyOf', { keyword: 'anyOf', schema: anyOf, parentSchema: { anyOf } }),
  ]);
  expect(describeErrors(errors.flat(), 2000)).toHaveLength(1000);
  expect(looked).toBe(1);
});

test('however deep alternatives lie within each other, explaining them comes to an end', () => {
  let looked = 0;
  const leaf = (n: number): ErrorObject => ({
    ...wrong(`/${n}`, ''),
    get schemaPath() {
      looked += 1;
      return '#/anyOf/0/minimum';
    },
  });
  const around = () => wrong('', '#/anyOf', { keyword: 'anyOf', schema: [{}], parentSchema: {} });
  const errors = [
    ...Array.from({ length: 5000 }, (_, n) => leaf(n)),
    ...Array.from({ length: 5000 }, around),
  ];
  expect(describeErrors(errors, 20)).toHaveLength(20);
  expect(looked).toBeLessThan(1_000_000);
});

test('alternatives may lie elsewhere, within each other, and be equally near', () => {
  const shape = (kind: string, key: string) => ({
    type: 'object',
    required: ['kind', key],
    additionalProperties: false,
    properties: { kind: { const: kind }, [key]: { type: 'integer' } },
  });
  const schema = {
    anyOf: [{ $ref: '#/$defs/name' }, { oneOf: [{ $ref: '#/$defs/circle' }, { $ref: '#/$defs/square' }] }],
    $defs: {
      name: { type: 'string', maxLength: 3 },
      circle: shape('circle', 'radius'),
      square: shape('square', 'side'),
    },
  };
  expect(told(schema, 'a b c')).toMatchObject([{ pointer: '', expected: 'a length of at most 3' }]);
  expect(told(schema, { kind: 'circle', raduis: 1 }).map(({ pointer }) => pointer)).not.toContain('/kind');
  const either = { oneOf: [{ type: 'string' }, { type: 'integer' }, { minimum: 0 }] };
  expect(told(either, null)).toMatchObject([]);
  expect(told(either, 3)).toMatchObject([{ expected: 'what fits exactly one of the alternatives' }]);
  expect(told({ anyOf: [{ type: 'string' }, { type: 'integer' }] }, null)).toMatchObject([
    { message: 'has the wrong type', expected: 'string' },
    { message: 'has the wrong type', expected: 'integer' },
  ]);
});

test.each([
  [{ minimum: 1 }, 0, 'at least 1'],
  [{ exclusiveMaximum: 1 }, 1, 'less than 1'],
  [{ multipleOf: 2 }, 3, 'a multiple of 2'],
  [{ maxLength: 1 }, 'ab', 'a length of at most 1'],
  [{ minItems: 1 }, [], 'a length of at least 1'],
  [{ prefixItems: [{}], items: false }, [1, 2], 'at most 1 items'],
  [{ minProperties: 2 }, {}, 'at least 2 keys'],
  [{ uniqueItems: true }, [1, 1], 'items that all differ'],
  [{ not: { type: 'null' } }, null, 'what does not fit "not"'],
  [{ dependentRequired: { a: ['b'] } }, { a: 1 }, 'the keys that belong together'],
  [{ additionalProperties: false }, { a: 1 }, 'no such key'],
  [{ properties: { a: false } }, { a: 1 }, 'nothing'],
])('whatever %j has against %j, it says what it expects', (schema, value, expected) => {
  const [problem, ...more] = new SchemaCompiler().compile(schema)(value);
  expect([problem, more]).toEqual([expect.objectContaining({ found: expect.any(String), expected }), []]);
});
