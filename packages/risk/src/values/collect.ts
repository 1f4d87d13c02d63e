import { hole } from '../place.js';
import { told } from './choices.js';
import { maxItems, unknown, type List, type Table, type Value } from './value.js';

/** Past the bound nobody knows what a list has. */
export function listOf(items: readonly Value[]): List {
  return { kind: 'list', items: items.length > maxItems ? [...items.slice(0, maxItems), unknown] : items };
}

/** Puts what a list has behind what is there already; one item by itself always, more within the bound. */
export function spread(into: Value[], items: readonly Value[]): void {
  if (items.length === 1) {
    into.push(items[0] as Value);
    return;
  }
  const room = Math.max(0, maxItems - into.length);
  for (const item of items.slice(0, room)) into.push(item);
  if (items.length > room) into.push(unknown);
}

/** What has a key that is not known, or is one of too many, is found under every key. */
export function put(entries: Map<string, readonly Value[]>, key: string, values: readonly Value[]): void {
  const isFull = entries.size >= maxItems && !entries.has(key);
  const place = isFull || key.includes(hole) ? hole : key;
  const before = entries.get(place);
  entries.set(place, before ? told([...before, ...values]) : values);
}

/**
 * A table with what is spread into it. Tables are merged at once, so that looking something up in one made of many is no
 * more work; `spend` bounds the work of merging.
 */
export function tableOf(
  own: ReadonlyMap<string, readonly Value[]>,
  spreads: readonly Value[],
  spend: () => boolean,
): Table {
  if (spreads.length === 0) return { kind: 'table', entries: own };
  const entries = new Map(own);
  const from = new Set<Value>();
  for (const value of spreads) {
    if (value.kind !== 'table') from.add(value);
    else {
      for (const [key, values] of value.entries) if (spend()) put(entries, key, values);
      for (const one of value.from ?? []) if (spend()) from.add(one);
    }
    // Past the bound of all work it is not known what else there is.
    if (!spend()) from.add(unknown);
  }
  return from.size === 0 ? { kind: 'table', entries } : { kind: 'table', entries, from: [...from] };
}
