import type { ErrorObject } from 'ajv';
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
const alternatives: ReadonlySet<string> = new Set(['anyOf', 'oneOf']);

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
  for (const error of errors) {
    if (told.length >= most) break;
    const deeper = (other: ErrorObject) =>
      other !== error && other.instancePath.startsWith(`${error.instancePath}/`);
    if (summaries.has(error.keyword) || (alternatives.has(error.keyword) && errors.some(deeper))) continue;
    const problem = describeError(error, found);
    const key = `${problem.pointer} ${problem.message}`;
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
  const { properties = {} } = (parentSchema ?? {}) as { readonly properties?: object };
  switch (keyword) {
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const key = String(params['additionalProperty'] ?? params['unevaluatedProperty']);
      return {
        pointer: `${instancePath}${pointerOf([key])}`,
        place: 'key',
        message: `${shown(key)} is not a known key`,
        ...(Object.keys(properties).length === 0
          ? {}
          : { expected: `one of ${Object.keys(properties).join(', ')}` }),
        ...suggested(nearest(key, Object.keys(properties))),
      };
    }
    case 'required': {
      const missing = String(params['missingProperty']);
      return { ...place, message: `${shown(missing)} is missing`, expected: `the key ${shown(missing)}` };
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
        expected: `text like ${String(params['pattern'])}`,
      };
    case 'false schema':
      return { ...here(), message: 'is not allowed here' };
    default:
      return { ...here(), message: message ?? `breaks "${keyword}"` };
  }
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
