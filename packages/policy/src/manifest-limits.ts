import { ceilingsUnder, limitsPast, outerCeilings, type EngineCapacity } from './ceilings.js';
import type { PolicySettings } from './layers.js';
import { readLayer } from './parse-overrides.js';
import type { PolicyProblem } from './problems.js';

/** Where limits stand in a skill's manifest. */
export const manifestLimitsPointer = '/limits';

/** Everything that makes a skill's limits invalid under these Settings; check again when Settings change. */
export function checkManifestLimits(
  limits: unknown,
  under: { readonly engine: EngineCapacity | undefined; readonly settings?: PolicySettings | undefined },
): readonly PolicyProblem[] {
  const { layer, malformed, refused } = readLayer(limits, manifestLimitsPointer, 'manifest');
  const ceilings = ceilingsUnder(outerCeilings(under.engine), under.settings ?? { values: {}, ceilings: {} });
  return [...malformed, ...refused, ...limitsPast(ceilings, layer, 'manifest', manifestLimitsPointer)];
}
