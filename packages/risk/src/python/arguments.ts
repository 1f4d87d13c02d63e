import type { Value } from '../values/value.js';

/** What a call was given; each argument can be one of several values. */
export interface Arguments {
  readonly positional: readonly (readonly Value[])[];
  readonly named: ReadonlyMap<string, readonly Value[]>;
}
