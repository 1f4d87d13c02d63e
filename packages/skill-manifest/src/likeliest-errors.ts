import type { ErrorObject } from 'ajv';
import { isObject, schemasBelow } from './schema-keywords.js';

/** A value of megabytes has as many, of which a few are told. */
const mostLooked = 10_000;
/** Where alternatives lie within each other, an error is taken from one to the next, at worst as often as values nest. */
const mostTaken = 10 * mostLooked;
const alternatives: ReadonlySet<string> = new Set(['anyOf', 'oneOf']);

/**
 * Where a value fits no alternative, only what is wrong by the one that was most likely meant: one that takes values of
 * its type, if there is any, and of those the one with the fewest errors; where several have as few, by each of them.
 * Needs errors that were made with `verbose`, in their order. No deadline ends it, so that its work is bounded.
 */
export function likeliestErrors(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const kept: ErrorObject[] = [];
  const known = new Map<unknown, BranchFinder>();
  let taken = 0;
  for (const error of errors.slice(0, mostLooked)) {
    if (taken >= mostTaken) break;
    const branches = alternatives.has(error.keyword) ? takeBranches(error, kept, known) : [];
    for (const { length } of branches) taken += length;
    // It may also fit more than one, and then what is wrong by the others does not matter.
    const fitsSeveral = Array.isArray(error.params['passingSchemas']);
    const likeliest = fitsSeveral ? [] : fewest(branches, error.instancePath);
    for (const each of likeliest.length === 0 ? [error] : likeliest) kept.push(each);
  }
  return kept;
}

/** The errors of its branches, which come right before it, taken away. */
function takeBranches(
  { instancePath, schemaPath, schema, parentSchema }: ErrorObject,
  kept: ErrorObject[],
  known: Map<unknown, BranchFinder>,
) {
  const schemas = Array.isArray(schema) ? (schema as readonly unknown[]) : [];
  const find = known.get(schema) ?? branchFinder(schemas);
  known.set(schema, find);
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
    const found = own in schemas && own <= branch ? own : find(path, branch);
    if (found === undefined) break;
    branch = found;
    branches[branch]?.push(last);
    kept.pop();
  }
  return branches.map((taken) => taken.reverse());
}

/** The last branch up to one that leads to a path by a reference, if there is any. */
type BranchFinder = (path: string, upTo: number) => number | undefined;

/** Schemas have few paths and errors are many: the schemas are looked through once, and once more for each path. */
function branchFinder(schemas: readonly unknown[]): BranchFinder {
  let references: readonly (readonly string[])[] | undefined;
  const known = new Map<string, readonly (readonly number[])[]>();
  const candidatesOf = (path: string) => {
    const all = (references ??= schemas.map((each) => [...new Set(referencesIn(each))]));
    const isBelow = (reference: string) => path.startsWith(`${reference}/`);
    const where = (leads: (index: number) => boolean) => [...all.keys()].filter(leads);
    return [
      where((index) => isBelow(referenceOf(schemas[index]))),
      where((index) => all[index]?.some(isBelow) ?? false),
      isBelow('#/$defs') ? [] : where((index) => all[index]?.length !== 0),
    ];
  };
  return (path, upTo) => {
    const candidates = known.get(path) ?? candidatesOf(path);
    known.set(path, candidates);
    for (const indices of candidates) {
      const found = indices.findLast((index) => index <= upTo);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

function referenceOf(schema: unknown): string {
  return isObject(schema) && typeof schema['$ref'] === 'string' ? schema['$ref'] : '';
}

function* referencesIn(schema: unknown): Generator<string> {
  if (!isObject(schema)) return;
  const own = referenceOf(schema);
  if (own !== '') yield own;
  for (const [, below] of schemasBelow(schema)) yield* referencesIn(below);
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
