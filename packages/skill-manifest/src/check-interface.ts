import type { JsonSchema } from './manifest.js';
import { nearest } from './nearest.js';
import { pathOf, pointerOf, shown } from './problem.js';
import {
  addressKeywords,
  allowedKeywords,
  fileKeyword,
  isObject,
  schemasBelow,
  type SchemaPath,
} from './schema-keywords.js';

export interface InterfaceProblem {
  readonly pointer: string;
  readonly message: string;
  readonly found?: string;
  readonly expected?: string;
  readonly suggestion?: string;
}

const mostSchemas = 1000;
const mostPatternLength = 512;
const draft = 'https://json-schema.org/draft/2020-12/schema';

/**
 * What the draft's own schema does not say: that each keyword is one, each reference leads somewhere inside,
 * each pattern is a regular expression, and where a file may stand. What passes can be compiled, which
 * is done when it is first needed, as that takes milliseconds.
 */
export function checkInterface(schema: JsonSchema, which: 'inputs' | 'outputs'): InterfaceProblem[] {
  const at = ['interface', which];
  const problems: InterfaceProblem[] = [];
  const waiting: { readonly path: SchemaPath; readonly schema: unknown; readonly plain: boolean }[] = [
    { path: [], schema, plain: true },
  ];
  /** By their pointers in this schema. */
  const schemas = new Map<string, unknown>();
  const references: { readonly from: JsonSchema; readonly here: string }[] = [];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { path, schema: found, plain } = next;
    schemas.set(pointerOf(path), found);
    if (!isObject(found)) continue;
    if (schemas.size > mostSchemas) {
      return [{ pointer: pointerOf(at), message: `holds more than ${mostSchemas} schemas` }];
    }
    const here = pointerOf([...at, ...path]);
    for (const problem of keywordProblems(found, here, path.length === 0)) problems.push(problem);
    if (Object.hasOwn(found, '$ref')) references.push({ from: found, here });
    problems.push(...patternProblems(found, here));
    if (Object.hasOwn(found, fileKeyword)) problems.push(...fileProblems(found, { here, which, plain }));
    for (const [below, inner] of schemasBelow(found)) {
      waiting.push({
        path: [...path, ...below],
        schema: inner,
        plain: plain && isCertain(found, below[0] ?? ''),
      });
    }
  }
  for (const { from, here } of references) problems.push(...referenceProblems(from, here, schemas));
  return problems.sort((a, b) => (a.pointer < b.pointer ? -1 : 1));
}

/** By these alone it is certain which values of an input a schema is for; the second says of which others it is not. */
const leadsToValues: ReadonlyMap<string, string | undefined> = new Map([
  ['properties', undefined],
  ['items', 'prefixItems'],
  ['additionalProperties', 'patternProperties'],
]);

function isCertain(schema: JsonSchema, keyword: string): boolean {
  const beside = leadsToValues.get(keyword);
  return leadsToValues.has(keyword) && (beside === undefined || !Object.hasOwn(schema, beside));
}

function* keywordProblems(schema: JsonSchema, here: string, isRoot: boolean): Generator<InterfaceProblem> {
  for (const [keyword, value] of Object.entries(schema)) {
    const pointer = `${here}${pointerOf([keyword])}`;
    if (addressKeywords.has(keyword)) {
      yield { pointer, message: `${shown(keyword)} is not allowed: a schema refers to its own $defs only` };
    } else if (keyword === '$schema' && (!isRoot || value !== draft)) {
      yield { pointer, message: 'is another draft', found: shown(value), expected: shown(draft) };
    } else if (!allowedKeywords.has(keyword)) {
      const suggestion = nearest(keyword, allowedKeywords);
      yield {
        pointer,
        message: `${shown(keyword)} is not a keyword of JSON Schema`,
        ...(suggestion === undefined ? {} : { suggestion }),
      };
    }
  }
}

/** What only looks like a schema, such as a default, cannot be referred to: it was not looked at. */
function referenceProblems(
  schema: JsonSchema,
  here: string,
  schemas: ReadonlyMap<string, unknown>,
): InterfaceProblem[] {
  const pointer = `${here}/$ref`;
  const reference = schema['$ref'];
  const problem = { pointer, found: shown(reference), expected: 'a reference such as "#/$defs/row"' };
  if (typeof reference !== 'string' || !/^#(\/|$)/.test(reference)) {
    return [{ ...problem, message: 'refers to something outside of this schema' }];
  }
  const target = pointerOf(pathOf(decodeFragment(reference.slice(1))));
  if (!schemas.has(target)) return [{ ...problem, message: 'refers to nothing' }];
  return schemas.get(target) === schema ? [{ ...problem, message: 'refers to itself' }] : [];
}

function decodeFragment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function* patternProblems(schema: JsonSchema, here: string): Generator<InterfaceProblem> {
  const named = isObject(schema['patternProperties']) ? Object.keys(schema['patternProperties']) : [];
  const patterns = [
    ...(typeof schema['pattern'] === 'string' ? [{ pattern: schema['pattern'], at: `${here}/pattern` }] : []),
    ...named.map((pattern) => ({ pattern, at: `${here}${pointerOf(['patternProperties', pattern])}` })),
  ];
  for (const { pattern, at } of patterns) {
    const message = patternProblem(pattern);
    if (message !== undefined) yield { pointer: at, message, found: shown(pattern) };
  }
}

function patternProblem(pattern: string): string | undefined {
  if (pattern.length > mostPatternLength) return `is longer than ${mostPatternLength} characters`;
  try {
    new RegExp(pattern, 'u');
    return undefined;
  } catch (error) {
    return `is no regular expression: ${error instanceof Error ? error.message : String(error)}`;
  }
}

const besideFile: ReadonlySet<string> = new Set([fileKeyword, 'title', 'description', '$comment']);

function* fileProblems(
  schema: JsonSchema,
  { here, which, plain }: { readonly here: string; readonly which: string; readonly plain: boolean },
): Generator<InterfaceProblem> {
  const pointer = `${here}/${fileKeyword}`;
  if (schema[fileKeyword] !== 'file') {
    yield { pointer, message: 'must be "file"', found: shown(schema[fileKeyword]), expected: '"file"' };
  }
  if (which === 'outputs') {
    yield { pointer, message: 'stands in outputs; files that a skill makes are its artifacts' };
  } else if (!plain || here === '/interface/inputs') {
    yield {
      pointer,
      message: 'stands where it is not certain which value is the file',
      expected:
        'a place below properties, items and additionalProperties only, without prefixItems or patternProperties beside',
    };
  }
  for (const keyword of Object.keys(schema).filter((each) => !besideFile.has(each))) {
    yield {
      pointer: `${here}${pointerOf([keyword])}`,
      message: `${shown(keyword)} has no meaning beside "${fileKeyword}"`,
      expected: 'title and description',
    };
  }
}
