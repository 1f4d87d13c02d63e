import { describe, expect, test } from '@jest/globals';
import { checkInterface } from './check-interface.js';
import { expandFiles, findFiles } from './file-inputs.js';
import { SchemaCompiler } from './schema-compiler.js';

const inputs = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

describe('an interface', () => {
  test('may use the whole of the draft, and its own definitions', () => {
    const schema = inputs(
      {
        rows: { type: 'array', items: { $ref: '#/$defs/row' }, minItems: 1, uniqueItems: true },
        other: { $ref: '#/properties/either/oneOf/1' },
        any: { $ref: '#/$defs/any%20thing' },
        either: { oneOf: [{ type: 'string', pattern: '^a+$' }, { const: null }] },
      },
      {
        $defs: {
          'any thing': true,
          row: { type: 'object', patternProperties: { '^x': { type: 'integer' } } },
        },
      },
    );
    expect(checkInterface(schema, 'inputs')).toEqual([]);
    const check = new SchemaCompiler().compile(schema);
    expect(check({ rows: [{ x1: 1 }], either: null })).toEqual([]);
    expect(check({ rows: [{ x1: 'a' }] })).toEqual([
      { pointer: '/rows/0/x1', message: 'has the wrong type', found: '"a"', expected: 'integer' },
    ]);
  });

  test.each([
    [{ $ref: 'https://example.com/schema.json' }, '/$ref', 'outside'],
    [{ $ref: 'other.json#/a' }, '/$ref', 'outside'],
    [{ $ref: '#/$defs/none' }, '/$ref', 'nothing'],
    [{ $ref: '#/properties/a' }, '/$ref', 'itself'],
    [{ $ref: '#/properties/a/default', default: { type: 7 } }, '/$ref', 'nothing'],
    [{ $ref: '#/properties' }, '/$ref', 'nothing'],
    [{ $ref: '#/properties/a/anyOf%2F0', anyOf: [{}] }, '/$ref', 'nothing'],
    [{ $ref: '#/properties/a/properties/%zz', properties: { '%zz': {} } }, '/$ref', 'nothing'],
    [{ anyOf: [{ type: 'null' }, { $ref: '#/properties/a' }] }, '/anyOf/1/$ref', 'itself'],
    [{ $id: 'https://example.com/' }, '/$id', 'not allowed'],
    [{ contentSchema: { $id: 'https://example.com/' } }, '/contentSchema/$id', 'not allowed'],
    [{ enum: [] }, '/enum', 'allows no value'],
    [{ $dynamicRef: '#a' }, '/$dynamicRef', 'not allowed'],
    [{ $schema: 'http://json-schema.org/draft-07/schema#' }, '/$schema', 'another draft'],
    [{ pattern: '(' }, '/pattern', 'no regular expression'],
    [{ pattern: 'a'.repeat(600) }, '/pattern', 'longer'],
    [{ patternProperties: { '[': {} } }, '/patternProperties/[', 'no regular expression'],
    [{ minLenght: 3 }, '/minLenght', 'not a keyword'],
    [{ 'x-secbox': 'folder' }, '/x-secbox', '"file"'],
    [{ 'x-secbox': 'file', type: 'string' }, '/type', 'no meaning'],
    [{ anyOf: [{ 'x-secbox': 'file' }] }, '/anyOf/0/x-secbox', 'not certain'],
    [{ prefixItems: [{}], items: { 'x-secbox': 'file' } }, '/items/x-secbox', 'not certain'],
    [
      { patternProperties: { '^n': {} }, additionalProperties: { 'x-secbox': 'file' } },
      '/additionalProperties/x-secbox',
      'not certain',
    ],
  ])('with %j is refused', (schema, below, words) => {
    const problems = checkInterface(inputs({ a: schema }), 'inputs');
    expect(problems).toHaveLength(1);
    expect(problems[0]?.pointer).toBe(`/interface/inputs/properties/a${below}`);
    expect(problems[0]?.message).toContain(words);
    expect(problems[0]).toMatchObject({ found: expect.any(String), expected: expect.any(String) });
  });

  test('whose references lead in a circle is refused at each of them, but may hold what is like itself', () => {
    const circle = inputs(
      { a: { $ref: '#/$defs/a' } },
      { $defs: { a: { $ref: '#/$defs/b' }, b: { allOf: [{ $ref: '#/$defs/a' }] } } },
    );
    expect(checkInterface(circle, 'inputs').map(({ pointer }) => pointer)).toEqual([
      '/interface/inputs/$defs/a/$ref',
      '/interface/inputs/$defs/b/allOf/0/$ref',
    ]);
    const tree = { type: 'object', properties: { next: { $ref: '#/properties/tree' } } };
    expect(checkInterface(inputs({ tree, all: { $ref: '#/properties/tree' } }), 'inputs')).toEqual([]);
  });

  test.each([
    ['a file', '#/properties/file'],
    ['what holds one', '#/properties/list'],
    ['the whole of the inputs with one', '#'],
  ])('that refers to %s is refused: it would be brought and checked in one place only', (_, $ref) => {
    const file = { 'x-secbox': 'file' };
    const schema = inputs({ file, list: { items: file }, again: { properties: { one: { $ref } } } });
    expect(checkInterface(schema, 'inputs')).toEqual([
      expect.objectContaining({
        pointer: '/interface/inputs/properties/again/properties/one/$ref',
        message: 'refers to a file, or to what holds one',
        found: JSON.stringify($ref),
      }),
    ]);
  });

  test('says the right spelling of a keyword', () => {
    expect(checkInterface(inputs({}, { requierd: [] }), 'inputs')[0]?.suggestion).toBe('required');
  });

  test('has no files in its outputs, and not as the whole of its inputs', () => {
    expect(checkInterface(inputs({ a: { 'x-secbox': 'file' } }), 'outputs')).toHaveLength(1);
    expect(checkInterface({ type: 'object', 'x-secbox': 'file' }, 'inputs').length).toBeGreaterThan(0);
  });

  test('of too many schemas is refused', () => {
    const anyOf = Array.from({ length: 2000 }, () => ({}));
    expect(checkInterface({ type: 'object', anyOf }, 'inputs')[0]?.message).toContain('more than');
  });
});

describe('a check', () => {
  test('ends also where a pattern does not (ReDoS), and goes on working', () => {
    const check = new SchemaCompiler().compile(inputs({ a: { type: 'string', pattern: '^(a+)+$' } }));
    const [problem] = check({ a: `${'a'.repeat(64)}b` });
    expect(problem?.message).toContain('longer than');
    expect(check({ a: 'aaa' })).toEqual([]);
  });

  test('of a schema that goes in circles is told, not fatal', () => {
    const circle = {
      type: 'object',
      $ref: '#/$defs/a',
      $defs: { a: { $ref: '#/$defs/b' }, b: { allOf: [{ $ref: '#/$defs/a' }] } },
    };
    expect(new SchemaCompiler().compile(circle)({})).toEqual([
      { pointer: '', message: expect.stringMatching(/^could not be checked: /) },
    ]);
  });

  test('fills in defaults where it is asked to', () => {
    const schema = inputs({ limit: { type: 'integer', default: 5 } });
    const value = {};
    expect(new SchemaCompiler().compile(schema, { fillDefaults: true })(value)).toEqual([]);
    expect(value).toEqual({ limit: 5 });
  });
});

describe('files in inputs', () => {
  const schema = inputs({
    one: { 'x-secbox': 'file', description: 'The first.' },
    many: { type: 'array', items: { 'x-secbox': 'file' } },
    named: { type: 'object', properties: { not: {} }, additionalProperties: { 'x-secbox': 'file' } },
  });
  const expanded = expandFiles(schema);
  const text = { content: 'a' };

  test('are spelt out for callers', () => {
    expect(checkInterface(schema, 'inputs')).toEqual([]);
    const check = new SchemaCompiler().compile(expanded.schema);
    expect(check({ one: text, many: [{ content_base64: 'YQ==', name: 'a b.csv' }] })).toEqual([]);
    for (const wrong of [
      {},
      { content: 1 },
      { ...text, name: '../x' },
      { ...text, name: '..' },
      { path: 'a' },
    ]) {
      expect(check({ one: wrong })).not.toEqual([]);
    }
    expect(JSON.stringify(expanded.schema)).not.toContain('x-secbox');
  });

  test('are found, and replaced in their place', () => {
    const value = { one: text, many: [text, text], named: { not: 1, a: text } };
    const found = findFiles(expanded.files, value);
    expect(found.map(({ pointer }) => pointer)).toEqual(['/one', '/many/0', '/many/1', '/named/a']);
    found[2]?.replace('here');
    expect(value.many).toEqual([text, 'here']);
    expect(findFiles(expanded.files, {})).toEqual([]);
  });
});
