import type { ErrorObject } from 'ajv';
import { isObject } from './schema-keywords.js';

/** A value of megabytes has as many, of which a few are told. */
const mostLooked = 10_000;
const alternatives: ReadonlySet<string> = new Set(['anyOf', 'oneOf']);

/**
 * Where a value fits no alternative, only what is wrong by the one that was most likely meant: one that takes values of
 * its type, if there is any, and of those the one with the fewest errors; where several have as few, by each of them.
 * Needs errors that were made with `verbose`, in their order.
 */
export function likeliestErrors(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const kept: ErrorObject[] = [];
  for (const error of errors.slice(0, mostLooked)) {
    const branches = alternatives.has(error.keyword) ? takeBranches(error, kept) : [];
    // It may also fit more than one, and then what is wrong by the others does not matter.
    const fitsSeveral = Array.isArray(error.params['passingSchemas']);
    const likeliest = fitsSeveral ? [] : fewest(branches, error.instancePath);
    for (const each of likeliest.length === 0 ? [error] : likeliest) kept.push(each);
  }
  return kept;
}

/** The errors of its branches, which come right before it, taken away. */
function takeBranches({ instancePath, schemaPath, schema, parentSchema }: ErrorObject, kept: ErrorObject[]) {
  const schemas = Array.isArray(schema) ? (schema as readonly unknown[]) : [];
  const branches = schemas.map((): ErrorObject[] => []);
  let branch = schemas.length - 1;
  for (let last = kept.at(-1); last; last = kept.at(-1)) {
    const isHere = last.instancePath === instancePath || last.instancePath.startsWith(`${instancePath}/`);
    if (!isHere || last.parentSchema === parentSchema) break;
    // What a branch refers to has a path of its own, at times even one that begins anew.
    const path = last.schemaPath;
    const own = path.startsWith(`${schemaPath}/`)
      ? Number.parseInt(path.slice(schemaPath.length + 1), 10)
      : -1;
    const upTo = schemas.slice(0, branch + 1);
    const isBelow = (reference: string) => path.startsWith(`${reference}/`);
    const candidates = [
      own,
      upTo.findLastIndex((each) => isBelow(referenceOf(each))),
      upTo.findLastIndex((each) => referencesIn(each).some(isBelow)),
      isBelow('#/$defs') ? -1 : upTo.findLastIndex((each) => referencesIn(each).length > 0),
    ];
    const found = candidates.find((index) => index in upTo);
    if (found === undefined) break;
    branch = found;
    branches[branch]?.push(last);
    kept.pop();
  }
  return branches.map((taken) => taken.reverse());
}

function referenceOf(schema: unknown): string {
  return isObject(schema) && typeof schema['$ref'] === 'string' ? schema['$ref'] : '';
}

function referencesIn(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own = referenceOf(schema);
  return [...(own === '' ? [] : [own]), ...Object.values(schema).flatMap(referencesIn)];
}

function fewest(branches: readonly (readonly ErrorObject[])[], place: string): readonly ErrorObject[] {
  const wrong = branches.filter(({ length }) => length > 0);
  const rank = (errors: readonly ErrorObject[]) =>
    errors.some(({ keyword, instancePath }) => keyword === 'type' && instancePath === place)
      ? Number.POSITIVE_INFINITY
      : errors.length;
  const least = Math.min(...wrong.map(rank));
  return wrong.filter((errors) => rank(errors) === least).flat();
}
