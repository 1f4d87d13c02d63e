import { hole } from '../place.js';
import { listOf } from '../values/collect.js';
import { derived, literal, maxText, unknown, type Value } from '../values/value.js';

/** A value as it appears inside a text. */
export function textValue(value: Value): string {
  if (value.kind === 'text') return value.text;
  if (value.kind !== 'number') return hole;
  return value.isBoolean ? (value.number === 0 ? 'False' : 'True') : String(value.number);
}

/** What a value is as a key: True is 1. */
export function keyOf(value: Value): string {
  return value.kind === 'number' ? String(value.number) : textValue(value);
}

/** What a loop over a value goes through. */
export function itemsOf(value: Value): readonly Value[] | undefined {
  if (value.kind === 'text') return Array.from(value.text).map(literal);
  return value.kind === 'list' ? value.items : undefined;
}

export function binary(operator: string, left: Value, right: Value): Value {
  if (left.kind === 'number' && right.kind === 'number')
    return arithmetic(operator, left.number, right.number);
  if (operator === '+') {
    if (left.kind === 'list' && right.kind === 'list') return listOf([...left.items, ...right.items]);
    if (left.kind === 'text' || right.kind === 'text')
      return derived(textValue(left) + textValue(right), [left, right], 'assembled');
  }
  if (operator === '%' && left.kind === 'text') {
    const values = right.kind === 'list' ? [...right.items] : [right];
    // Cut, padded or turned into something else it is not known.
    const text = left.text.replace(/%(%|\([^)]*\)|[^%a-zA-Z]*[a-zA-Z])/g, (_, kind: string) => {
      if (kind === '%') return '%';
      const value = textValue(values.shift() ?? unknown);
      return kind === 's' || (kind === 'd' && /^-?\d+$/.test(value)) ? value : hole;
    });
    return derived(text, [left], 'assembled');
  }
  if (operator === '*' && left.kind === 'text' && right.kind === 'number') {
    const size = left.text.length * right.number;
    return size >= 0 && size <= maxText
      ? derived(left.text.repeat(Math.floor(right.number)), [left], 'assembled')
      : unknown;
  }
  // Path("a") / "b"
  if (operator === '/' && left.kind === 'text') return joinedPath([left, right]);
  return unknown;
}

function arithmetic(operator: string, left: number, right: number): Value {
  const number = computed(operator, left, right);
  return number === undefined || Number.isNaN(number) ? unknown : { kind: 'number', number };
}

function computed(operator: string, left: number, right: number): number | undefined {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    case '//':
      return Math.floor(left / right);
    case '%':
      return ((left % right) + right) % right;
    case '^':
      return left ^ right;
    case '&':
      return left & right;
    case '|':
      return left | right;
    case '<<':
      return left << right;
    case '>>':
      return left >> right;
    case '**':
      return left ** right;
    default:
      return undefined;
  }
}

export function joinedPath(parts: readonly Value[]): Value {
  let path = '';
  for (const part of parts.map(textValue))
    path = part.startsWith('/') || part.startsWith('~') || path === '' ? part : `${path}/${part}`;
  // Joining folders is no disguise.
  return path.length > maxText ? unknown : literal(path);
}

export function indexed(object: Value, index: Value): Value {
  if (index.kind !== 'number') return unknown;
  if (object.kind === 'list') return object.items.at(index.number) ?? unknown;
  const character = object.kind === 'text' ? object.text.at(index.number) : undefined;
  return character === undefined ? unknown : derived(character, [object], 'assembled');
}

export function sliced(object: Value, [start, stop, step = 1]: readonly (number | undefined)[]): Value {
  if ([start, stop, step].some((bound) => Number.isNaN(bound)) || step === 0) return unknown;
  const pick = <T>(items: readonly T[]): T[] => {
    const size = items.length;
    const clamp = (bound: number, low: number, high: number) =>
      Math.min(Math.max(bound < 0 ? bound + size : bound, low), high);
    const [low, high] = step > 0 ? [0, size] : [-1, size - 1];
    const first = start === undefined ? (step > 0 ? low : high) : clamp(start, low, high);
    const last = stop === undefined ? (step > 0 ? high : low) : clamp(stop, low, high);
    const picked: T[] = [];
    for (let at = first; step > 0 ? at < last : at > last; at += step) picked.push(items[at] as T);
    return picked;
  };
  if (object.kind === 'list') return { kind: 'list', items: pick(object.items) };
  if (object.kind !== 'text' || object.text.includes(hole)) return unknown;
  return derived(pick(Array.from(object.text)).join(''), [object], 'assembled');
}
