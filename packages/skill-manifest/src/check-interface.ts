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
 * What the draft's own schema does not say: that each keyword is one, each reference leads somewhere inside and
 * comes to an end, each pattern is a regular expression, each enum has values, and where a file may stand. What
 * passes can be compiled, which is done when it is first needed, as that takes milliseconds.
 */
export function checkInterface(schema: JsonSchema, which: 'inputs' | 'outputs'): InterfaceProblem[] {
  const at = ['interface', which];
  const problems: InterfaceProblem[] = [];
  const waiting: { readonly path: SchemaPath; readonly schema: unknown; readonly plain: boolean }[] = [
    { path: [], schema, plain: true },
  ];
  const known: Known = { schemas: new Map(), files: [] };
  const references: { readonly from: JsonSchema; readonly here: string }[] = [];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { path, schema: found, plain } = next;
    known.schemas.set(pointerOf(path), found);
    if (!isObject(found)) continue;
    if (known.schemas.size > mostSchemas) {
      const message = `holds more than ${mostSchemas} schemas`;
      return [{ pointer: pointerOf(at), message, found: 'more', expected: `at most ${mostSchemas} schemas` }];
    }
    const here = pointerOf([...at, ...path]);
    for (const problem of keywordProblems(found, here, path.length === 0)) problems.push(problem);
    if (Object.hasOwn(found, '$ref')) references.push({ from: found, here });
    problems.push(...patternProblems(found, here), ...enumProblems(found, here));
    if (Object.hasOwn(found, fileKeyword)) {
      known.files.push(pointerOf(path));
      problems.push(...fileProblems(found, { here, which, plain }));
    }
    for (const [below, inner] of schemasBelow(found)) {
      waiting.push({
        path: [...path, ...below],
        schema: inner,
        plain: plain && isCertain(found, below[0] ?? ''),
      });
    }
  }
  for (const { from, here } of references) problems.push(...referenceProblems(from, here, known));
  return problems.sort((a, b) => (a.pointer < b.pointer ? -1 : 1));
}

/** By their pointers in this schema: every schema, and which of them stand for files. */
interface Known {
  readonly schemas: Map<string, unknown>;
  readonly files: string[];
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
      const message = `${shown(keyword)} is not allowed: a schema refers to its own $defs only`;
      yield { pointer, message, found: shown(keyword), expected: '"$ref" and "$defs"' };
    } else if (keyword === '$schema' && (!isRoot || value !== draft)) {
      yield { pointer, message: 'is another draft', found: shown(value), expected: shown(draft) };
    } else if (!allowedKeywords.has(keyword)) {
      const suggestion = nearest(keyword, allowedKeywords);
      yield {
        pointer,
        message: `${shown(keyword)} is not a keyword of JSON Schema`,
        found: shown(keyword),
        expected: 'a keyword of the draft 2020-12',
        ...(suggestion === undefined ? {} : { suggestion }),
      };
    }
  }
}

/** What only looks like a schema, such as a default, cannot be referred to: it was not looked at. */
function referenceProblems(schema: JsonSchema, here: string, { schemas, files }: Known): InterfaceProblem[] {
  const pointer = `${here}/$ref`;
  const reference = schema['$ref'];
  const problem = { pointer, found: shown(reference), expected: 'a reference such as "#/$defs/row"' };
  if (typeof reference !== 'string' || !/^#(\/|$)/.test(reference)) {
    return [{ ...problem, message: 'refers to something outside of this schema' }];
  }
  const target = targetOf(reference);
  if (target === undefined || !schemas.has(target)) return [{ ...problem, message: 'refers to nothing' }];
  if (leadsTo(schema, target, schemas)) {
    return [{ ...problem, message: 'leads back to itself for the same value, so that no check of it ends' }];
  }
  if (files.some((file) => `${file}/`.startsWith(`${target}/`))) {
    const expected = `"${fileKeyword}" itself wherever there is a file`;
    return [{ ...problem, message: 'refers to a file, or to what holds one', expected }];
  }
  return [];
}

/** Undefined when it cannot be read. A validator takes it apart before it decodes the keys: "%2F" is part of one. */
function targetOf(reference: string): string | undefined {
  try {
    return pointerOf(pathOf(reference.slice(1), decodeURIComponent));
  } catch {
    return undefined;
  }
}

/** What stands below these is for the very value that the schema around them is for. */
const ofSameValue: ReadonlySet<string> = new Set([
  'allOf',
  'anyOf',
  'dependentSchemas',
  'else',
  'if',
  'not',
  'oneOf',
  'then',
]);

/** Whether whoever checks a value by the schema at `target` comes to check the same value by `schema`. */
function leadsTo(schema: JsonSchema, target: string, schemas: Known['schemas']): boolean {
  const seen = new Set<unknown>();
  const waiting = [schemas.get(target)];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (next === schema) return true;
    if (!isObject(next) || seen.has(next)) continue;
    seen.add(next);
    const further = typeof next['$ref'] === 'string' ? targetOf(next['$ref']) : undefined;
    if (further !== undefined) waiting.push(schemas.get(further));
    for (const [[keyword = ''], inner] of schemasBelow(next)) {
      if (ofSameValue.has(keyword)) waiting.push(inner);
    }
  }
  return false;
}

/** The draft advises against it, and validators refuse it. */
function* enumProblems(schema: JsonSchema, here: string): Generator<InterfaceProblem> {
  const values = schema['enum'];
  if (!Array.isArray(values) || values.length > 0) return;
  yield { pointer: `${here}/enum`, message: 'allows no value', found: '[]', expected: 'at least one value' };
}

function* patternProblems(schema: JsonSchema, here: string): Generator<InterfaceProblem> {
  const named = isObject(schema['patternProperties']) ? Object.keys(schema['patternProperties']) : [];
  const patterns = [
    ...(typeof schema['pattern'] === 'string' ? [{ pattern: schema['pattern'], at: `${here}/pattern` }] : []),
    ...named.map((pattern) => ({ pattern, at: `${here}${pointerOf(['patternProperties', pattern])}` })),
  ];
  for (const { pattern, at } of patterns) {
    const problem = patternProblem(pattern);
    if (problem) yield { pointer: at, ...problem, found: shown(pattern) };
  }
}

function patternProblem(
  pattern: string,
): Required<Pick<InterfaceProblem, 'message' | 'expected'>> | undefined {
  if (pattern.length > mostPatternLength) {
    const most = `${mostPatternLength} characters`;
    return { message: `is longer than ${most}`, expected: `at most ${most}` };
  }
  try {
    new RegExp(pattern, 'u');
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { message: `is no regular expression: ${why}`, expected: 'a regular expression of JavaScript' };
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
    const message = 'stands in outputs; files that a skill makes are its artifacts';
    yield { pointer, message, found: shown(fileKeyword), expected: 'no files' };
  } else if (!plain || here === '/interface/inputs') {
    yield {
      pointer,
      message: 'stands where it is not certain which value is the file',
      found: shown(fileKeyword),
      expected:
        'a place below properties, items and additionalProperties only, without prefixItems or patternProperties beside',
    };
  }
  for (const keyword of Object.keys(schema).filter((each) => !besideFile.has(each))) {
    yield {
      pointer: `${here}${pointerOf([keyword])}`,
      message: `${shown(keyword)} has no meaning beside "${fileKeyword}"`,
      found: shown(keyword),
      expected: 'title and description',
    };
  }
}
