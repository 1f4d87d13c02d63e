import type { ErrorObject } from 'ajv';
import { likeliestErrors } from './likeliest-errors.js';
import { nearest } from './nearest.js';
import { pointerOf, shown } from './problem.js';

/** What a validator found, in words that say what to do. */
export interface ValueProblem {
  readonly pointer: string;
  /** The place of an unknown key is that key. */
  readonly place: 'key' | 'value';
  readonly message: string;
  readonly found?: string;
  readonly expected?: string;
  readonly suggestion?: string;
}

/** They only say that something below failed, which is told on its own. */
const summaries: ReadonlySet<string> = new Set(['if', 'allOf', '$ref', '$dynamicRef']);

/** Needs errors that were made with `verbose`. */
export function describeErrors(errors: readonly ErrorObject[], most: number): ValueProblem[] {
  const told: ValueProblem[] = [];
  const seen = new Set<string>();
  // One value can be wrong in many ways, and even its first key takes longer the more it has.
  const known = new Map<unknown, string>();
  const found = (data: unknown) => {
    if (typeof data !== 'object') return shown(data);
    const text = known.get(data) ?? shown(data);
    known.set(data, text);
    return text;
  };
  for (const error of likeliestErrors(errors)) {
    if (told.length >= most) break;
    if (summaries.has(error.keyword)) continue;
    const problem = describeError(error, found);
    const key = `${problem.pointer} ${problem.message} ${problem.expected ?? ''}`;
    if (!seen.has(key)) told.push(problem);
    seen.add(key);
  }
  return told;
}

function describeError(
  { instancePath, keyword, params, data, message, parentSchema }: ErrorObject,
  found: (data: unknown) => string,
): ValueProblem {
  const place = { pointer: instancePath, place: 'value' as const };
  const here = () => ({ ...place, found: found(data) });
  const { properties = {}, examples = [] } = (parentSchema ?? {}) as {
    readonly properties?: object;
    readonly examples?: readonly unknown[];
  };
  switch (keyword) {
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const key = String(params['additionalProperty'] ?? params['unevaluatedProperty']);
      const known = Object.keys(properties);
      return {
        pointer: `${instancePath}${pointerOf([key])}`,
        place: 'key',
        message: `${shown(key)} is not a known key`,
        found: shown(key),
        expected: known.length === 0 ? 'no such key' : `one of ${known.join(', ')}`,
        ...suggested(nearest(key, known)),
      };
    }
    case 'required': {
      const missing = String(params['missingProperty']);
      return {
        ...place,
        message: `${shown(missing)} is missing`,
        found: shown(undefined),
        expected: `the key ${shown(missing)}`,
      };
    }
    case 'enum':
      return {
        ...here(),
        ...fixed('is not one of the allowed values', params['allowedValues'] as unknown[], data),
      };
    case 'const':
      return { ...here(), ...fixed('is not the allowed value', [params['allowedValue']], data) };
    case 'type':
      return { ...here(), message: 'has the wrong type', expected: String(params['type']) };
    case 'pattern':
      return {
        ...here(),
        message: 'does not have the right form',
        expected:
          examples.length === 0
            ? `text like ${String(params['pattern'])}`
            : `text such as ${examples.map(shown).join(', ')}`,
        ...suggested(typeof data === 'string' ? nearestPath(data, examples) : undefined),
      };
    case 'false schema':
      return { ...here(), message: 'is not allowed here', expected: shown(undefined) };
    default:
      return { ...here(), message: message ?? `breaks "${keyword}"`, expected: bound(keyword, params) };
  }
}

/** What keywords ask for, in words; # stands for how much of it. */
const bounds: ReadonlyMap<string, string> = new Map([
  ['anyOf', 'what fits one of the alternatives'],
  ['contains', 'an item that fits'],
  ['dependentRequired', 'the keys that belong together'],
  ['exclusiveMaximum', 'less than #'],
  ['exclusiveMinimum', 'more than #'],
  ['items', 'at most # items'],
  ['maximum', 'at most #'],
  ['maxItems', 'a length of at most #'],
  ['maxLength', 'a length of at most #'],
  ['maxProperties', 'at most # keys'],
  ['minimum', 'at least #'],
  ['minItems', 'a length of at least #'],
  ['minLength', 'a length of at least #'],
  ['minProperties', 'at least # keys'],
  ['multipleOf', 'a multiple of #'],
  ['not', 'what does not fit "not"'],
  ['oneOf', 'what fits exactly one of the alternatives'],
  ['propertyNames', 'keys of the right form'],
  ['unevaluatedItems', 'at most # items'],
  ['uniqueItems', 'items that all differ'],
]);

function bound(keyword: string, params: Readonly<Record<string, unknown>>): string {
  const much = params['limit'] ?? params['len'] ?? params['multipleOf'];
  return bounds.get(keyword)?.replace('#', String(much)) ?? `what "${keyword}" asks for`;
}

/** The same path, but for the folder that it begins with: one of those that the examples begin with. */
function nearestPath(written: string, examples: readonly unknown[]): string | undefined {
  const paths = examples.filter((each) => typeof each === 'string' && each.includes('/')).map(String);
  const [folder = '', ...below] = written.split('/');
  const meant = nearest(
    folder,
    paths.map((path) => path.split('/', 1).join()),
  );
  return meant === undefined || meant === folder ? undefined : [meant, ...below].join('/');
}

function fixed(message: string, values: readonly unknown[], data: unknown) {
  const words = values.filter((value) => typeof value === 'string');
  return {
    message,
    expected: values.map(shown).join(' or '),
    ...suggested(typeof data === 'string' ? nearest(data, words) : undefined),
  };
}

function suggested(suggestion: string | undefined): { readonly suggestion?: string } {
  return suggestion === undefined ? {} : { suggestion };
}
