import { hole } from '../place.js';
import { reference, unknown, type Value } from './value.js';

/** So many values of one thing are told apart. */
export const maxChoices = 16;

/** So many ways to put several together are gone through one after the other. */
const maxWays = 8;

/** One of several functions: whoever calls it cannot tell which. */
const lost = reference('?[?]');

/** The first values, each once; where there are more, one that nobody knows. */
export function told(values: readonly Value[]): readonly Value[] {
  if (values.length <= 1) return values;
  const kept: Value[] = [];
  for (const value of values) {
    if (kept.some((other) => isSame(value, other))) continue;
    if (kept.length === maxChoices) return [...kept, restOf(values)];
    kept.push(value);
  }
  return kept;
}

function restOf(values: readonly Value[]): Value {
  const references = values.filter((value) => value.kind === 'reference');
  // What came of a call, or is a method of it, is no function of a module.
  const isFunction = references.some(({ path }) => !path.includes('()') && !path.startsWith('?'));
  // What has a name that is not known stays that.
  return references.find(({ path }) => /\?\]?$/.test(path)) ?? (isFunction ? lost : unknown);
}

/** The first texts, each once; where there are more, the hole that stands for all of them. */
export function toldTexts(texts: readonly string[]): readonly string[] {
  if (texts.length <= 1) return texts;
  const kept = new Set<string>();
  for (const text of texts) {
    if (kept.size === maxChoices && !kept.has(text)) return [...kept, hole];
    kept.add(text);
  }
  return [...kept];
}

function isSame(one: Value, other: Value): boolean {
  if (one === other) return true;
  switch (one.kind) {
    case 'unknown':
      return other.kind === 'unknown';
    case 'number':
      return other.kind === 'number' && one.number === other.number && one.isBoolean === other.isBoolean;
    case 'text':
      return (
        other.kind === 'text' &&
        one.text === other.text &&
        one.assembled === other.assembled &&
        one.decoded === other.decoded
      );
    case 'reference':
      return (
        other.kind === 'reference' &&
        one.path === other.path &&
        one.hidden === other.hidden &&
        isSameSubject(one.subject, other.subject)
      );
    case 'list':
    case 'table':
      return false;
  }
}

/** What holds others is compared no further: chains of subjects can be long. */
function isSameSubject(one: Value | undefined, other: Value | undefined): boolean {
  if (one === other) return true;
  return one !== undefined && other !== undefined && one.kind !== 'reference' && isSame(one, other);
}

/**
 * Each way to take one of each list. Where there are too many, the first of them, ways in which each of all has its turn,
 * and one in which whatever has several is `rest`: nothing is left out without a word.
 */
export function combinations<One>(
  lists: readonly (readonly One[])[],
  rest: One,
): readonly (readonly One[])[] {
  let ways = 1;
  let longest = 1;
  let several = 0;
  for (const { length } of lists) {
    if (length <= 1) continue;
    several += 1;
    ways = Math.min(ways * length, maxWays + 1);
    longest = Math.max(longest, length);
  }
  if (several === 0) return [lists.map((list) => first(list, rest))];
  const turns = () =>
    Array.from({ length: longest }, (_, turn) =>
      lists.map((list) => (list.length > 1 ? (list[turn % list.length] as One) : first(list, rest))),
    );
  if (several === 1) return turns();
  const taken = Array.from({ length: Math.min(ways, maxWays) }, (_, way) => {
    let left = way;
    return lists.map((list) => {
      if (list.length <= 1) return first(list, rest);
      const at = left % list.length;
      left = Math.floor(left / list.length);
      return list[at] as One;
    });
  });
  if (ways <= maxWays) return taken;
  return [...taken, ...turns(), lists.map((list) => (list.length > 1 ? rest : first(list, rest)))];
}

function first<One>(list: readonly One[], rest: One): One {
  return list.length === 0 ? rest : (list[0] as One);
}
