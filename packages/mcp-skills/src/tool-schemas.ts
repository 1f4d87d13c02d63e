type Schema = Readonly<Record<string, unknown>>;

/** The protocol takes objects only; any other output is the one property of such. */
export const wrappedOutput = 'output';

export function inputSchemaOf(inputs: object): { type: 'object' } {
  return { ...withoutDialect(inputs), type: 'object' };
}

export function isWrapped(outputs: object): boolean {
  return (outputs as Schema)['type'] !== 'object';
}

export function outputSchemaOf(outputs: object): { type: 'object' } {
  const schema = withoutDialect(outputs);
  if (!isWrapped(outputs)) return { ...schema, type: 'object' };
  const inner = moveReferences(schema, `#/properties/${wrappedOutput}`);
  return { type: 'object', ...{ required: [wrappedOutput], properties: { [wrappedOutput]: inner } } };
}

/** It is the protocol's own; validators that know no other stumble over its name. */
function withoutDialect(schema: object): Schema {
  const { $schema: _, ...rest } = schema as Schema;
  return rest;
}

/** Keywords whose values are data, in which `$ref` is no reference. */
const data: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples']);
/** Keywords below which schemas have names of their authors' own, which may be those of keywords. */
const named: ReadonlySet<string> = new Set(['$defs', 'dependentSchemas', 'patternProperties', 'properties']);

/** A schema that lies deeper than it did: what it says of itself lies there, too. */
function moveReferences(schema: unknown, to: string): unknown {
  if (Array.isArray(schema)) return schema.map((each) => moveReferences(each, to));
  return mapped(schema, (value, key) => {
    if (key === '$ref' && typeof value === 'string') return value.replace(/^#/, to);
    if (data.has(key)) return value;
    return named.has(key) ? mapped(value, (each) => moveReferences(each, to)) : moveReferences(value, to);
  });
}

function mapped(object: unknown, change: (value: unknown, key: string) => unknown): unknown {
  if (typeof object !== 'object' || object === null) return object;
  return Object.fromEntries(
    Object.entries(object).map(([key, value]: [string, unknown]) => [key, change(value, key)]),
  );
}
