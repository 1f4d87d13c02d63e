/** The keywords of JSON Schema 2020-12 that an interface may use, by what stands under them. */
export const oneSchema: ReadonlySet<string> = new Set([
  'additionalProperties',
  'contains',
  'contentSchema',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
]);
export const listOfSchemas: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
export const namedSchemas: ReadonlySet<string> = new Set([
  '$defs',
  'dependentSchemas',
  'patternProperties',
  'properties',
]);
const withoutSchemas = [
  '$comment',
  '$ref',
  '$schema',
  'const',
  'contentEncoding',
  'contentMediaType',
  'default',
  'dependentRequired',
  'deprecated',
  'description',
  'enum',
  'examples',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'format',
  'maxContains',
  'maximum',
  'maxItems',
  'maxLength',
  'maxProperties',
  'minContains',
  'minimum',
  'minItems',
  'minLength',
  'minProperties',
  'multipleOf',
  'pattern',
  'readOnly',
  'required',
  'title',
  'type',
  'uniqueItems',
  'writeOnly',
];
/** What stands for a file in the inputs of a skill. */
export const fileKeyword = 'x-secbox';

export const allowedKeywords: ReadonlySet<string> = new Set([
  ...oneSchema,
  ...listOfSchemas,
  ...namedSchemas,
  ...withoutSchemas,
  fileKeyword,
]);

/** They give a schema an address of its own, by which others could be fetched or confused. */
export const addressKeywords: ReadonlySet<string> = new Set([
  '$anchor',
  '$dynamicAnchor',
  '$dynamicRef',
  '$id',
  '$recursiveAnchor',
  '$recursiveRef',
  '$vocabulary',
]);

export type SchemaPath = readonly string[];

/** The schemas right below one, each with the keys that lead to it. */
export function* schemasBelow(schema: Readonly<Record<string, unknown>>): Generator<[SchemaPath, unknown]> {
  for (const [keyword, value] of Object.entries(schema)) {
    if (oneSchema.has(keyword)) yield [[keyword], value];
    else if (listOfSchemas.has(keyword) && Array.isArray(value)) {
      for (const [index, item] of value.entries()) yield [[keyword, String(index)], item];
    } else if (namedSchemas.has(keyword) && isObject(value)) {
      for (const [name, item] of Object.entries(value)) yield [[keyword, name], item];
    }
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
