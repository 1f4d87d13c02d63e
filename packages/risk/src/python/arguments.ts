import { spread } from '../values/collect.js';
import type { Value } from '../values/value.js';

/** What a call was given, in one of the ways in which its arguments can be. */
export interface Arguments {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

/** One argument as it is written; a splat of a list is several. */
export type Argument =
  { readonly positional: readonly Value[] } | { readonly named: ReadonlyMap<string, Value> };

export function argumentsFrom(given: readonly Argument[]): Arguments {
  const positional: Value[] = [];
  const named = new Map<string, Value>();
  for (const one of given) {
    if ('positional' in one) spread(positional, one.positional);
    else for (const [name, value] of one.named) named.set(name, value);
  }
  return { positional, named };
}
