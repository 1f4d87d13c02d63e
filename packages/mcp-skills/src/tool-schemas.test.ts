import { expect, test } from '@jest/globals';
import { inputSchemaOf, isWrapped, outputSchemaOf } from './tool-schemas.js';

const $schema = 'https://json-schema.org/draft/2020-12/schema';

test('schemas of objects stay as they are, but for the name of the draft', () => {
  const schema = { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: {} } };
  expect(inputSchemaOf({ $schema, ...schema })).toEqual(schema);
  expect(outputSchemaOf({ $schema, ...schema })).toEqual(schema);
  expect(isWrapped(schema)).toBe(false);
});

test('any other output is the one property of an object, and refers to what lies there', () => {
  const data = { $ref: '#/x' };
  const list = {
    type: 'array',
    items: { $ref: '#/$defs/row' },
    default: [data],
    $defs: { row: { anyOf: [{ $ref: '#' }, { const: data }] } },
  };
  expect(isWrapped(list)).toBe(true);
  expect(outputSchemaOf({ $schema, ...list })).toEqual({
    type: 'object',
    required: ['output'],
    properties: {
      output: {
        type: 'array',
        items: { $ref: '#/properties/output/$defs/row' },
        default: [data],
        $defs: { row: { anyOf: [{ $ref: '#/properties/output' }, { const: data }] } },
      },
    },
  });
  expect(isWrapped({ type: ['object', 'null'] })).toBe(true);
});

test.each(['properties', '$defs', 'patternProperties', 'dependentSchemas'])(
  'names below %s are no keywords, whatever they are',
  (keyword) => {
    const schemas = (to: string) => ({
      default: { $ref: `${to}/$defs/a` },
      enum: { $ref: to },
      const: { items: { $ref: to } },
      examples: { default: { $ref: '#' }, $ref: to },
      $ref: { const: { $ref: '#' } },
    });
    const moved = outputSchemaOf({ type: 'array', items: { [keyword]: schemas('#') } });
    const items = { [keyword]: schemas('#/properties/output') };
    expect(moved).toMatchObject({ properties: { output: { type: 'array', items } } });
  },
);
