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
    [{ $id: 'https://example.com/' }, '/$id', 'not allowed'],
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
      $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } },
    };
    const compiler = new SchemaCompiler();
    expect(() => compiler.compile(circle)({})).not.toThrow(TypeError);
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
