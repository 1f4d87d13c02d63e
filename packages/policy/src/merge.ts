import { SecboxError, type PolicySnapshot } from '@secbox/contracts';
import {
  ceilingsUnder,
  isPast,
  limitsPast,
  outerCeilings,
  perLimit,
  tightenedBy,
  type PolicyEngine,
} from './ceilings.js';
import { systemDefaults } from './defaults.js';
import type { PolicyOverrides, PolicySettings } from './layers.js';
import { manifestLimitsPointer } from './manifest-limits.js';
import { overridesPointer, readLayer } from './parse-overrides.js';
import { invalidPolicy, policyExceeded, type PolicyAuthority, type PolicyProblem } from './problems.js';
import { readSettings } from './settings.js';

export interface PolicyInputs {
  readonly engine: PolicyEngine;
  readonly settings?: PolicySettings | undefined;
  /** The limits of the skill, when one is run. */
  readonly manifest?: PolicyOverrides | undefined;
  /** The request's, as it came or parsed before: it is read with the same suspicion either way. */
  readonly overrides?: unknown;
}

/**
 * Merges system default ← Settings ← manifest ← request and says who decided each value.
 *
 * Stored Settings past the built-in ceilings or the engine's are cut down, not refused: the machine may have
 * changed since, and a caller can do nothing about it. A manifest or a request past its ceiling is refused.
 */
export function mergePolicy(inputs: PolicyInputs): PolicySnapshot {
  const stored = readSettings(inputs.settings ?? {}, '/settings');
  const manifest = readLayer(inputs.manifest ?? {}, manifestLimitsPointer, 'manifest');
  const request = readLayer(
    inputs.overrides === undefined ? {} : inputs.overrides,
    overridesPointer,
    'request',
  );
  assertCheckedBefore([...stored.malformed, ...stored.refused, ...manifest.malformed]);
  if (request.malformed.length > 0) throw invalidPolicy(request.malformed);

  const { settings } = stored;
  const outer = ceilingsUnder(outerCeilings(inputs.engine), settings);
  const ceilings = tightenedBy(outer, manifest.layer, 'manifest');
  const violations = [
    ...manifest.refused,
    ...limitsPast(outer, manifest.layer, 'manifest', manifestLimitsPointer),
    ...request.refused,
    ...limitsPast(ceilings, request.layer, 'request', overridesPointer),
  ];
  if (violations.length > 0) throw policyExceeded(violations);

  const layers = { settings: settings.values, manifest: manifest.layer, request: request.layer };
  const limits = perLimit((field) =>
    settle(systemDefaults[field], outer[field], {
      settings: layers.settings[field],
      manifest: layers.manifest[field],
      request: layers.request[field],
    }),
  );
  const readOnlyRoot = settle(systemDefaults.read_only_root, outer.read_only_root, {
    settings: layers.settings.read_only_root,
    manifest: layers.manifest.read_only_root,
    request: layers.request.read_only_root,
  });
  return deepFreeze({
    values: {
      net: { mode: systemDefaults.net.mode },
      ...perLimit((field) => limits[field].value),
      read_only_root: readOnlyRoot.value,
    },
    ceilings,
    sources: {
      'net.mode': 'system',
      ...perLimit((field) => limits[field].source),
      read_only_root: readOnlyRoot.source,
    },
    runtime: runtimeOf(inputs),
    settings_version: inputs.settings?.version ?? 0,
  });
}

function runtimeOf({ engine, settings }: PolicyInputs): PolicySnapshot['runtime'] {
  return settings?.runtime === undefined
    ? { value: engine.defaultRuntime, layer: 'engine' }
    : { value: settings.runtime, layer: 'settings' };
}

interface Settled<Value> {
  readonly value: Value;
  readonly source: PolicyAuthority;
}

/** The last layer that says something else than what holds decides; the defaults yield to the ceiling first. */
function settle<Value extends number | boolean>(
  fallback: Value,
  ceiling: { readonly value: Value; readonly layer: PolicyAuthority },
  said: Readonly<Record<'settings' | 'manifest' | 'request', Value | undefined>>,
): Settled<Value> {
  let settled: Settled<Value> = { value: fallback, source: 'system' };
  const hear = (value: Value | undefined, source: PolicyAuthority) => {
    if (value !== undefined && value !== settled.value) settled = { value, source };
  };
  hear(said.settings, 'settings');
  if (isPast(settled.value, ceiling.value)) hear(ceiling.value, ceiling.layer);
  hear(said.manifest, 'manifest');
  hear(said.request, 'request');
  return settled;
}

/** Settings and manifests are checked when they are stored and loaded; one that slipped through is our fault. */
function assertCheckedBefore(problems: readonly PolicyProblem[]): void {
  if (problems.length === 0) return;
  throw new SecboxError('internal_error', 'Settings or a manifest were used without having been checked.', {
    details: { problems: problems.map(({ pointer, message }) => ({ pointer, message })) },
  });
}

function deepFreeze<Value extends object>(value: Value): Value {
  for (const child of Object.values(value) as unknown[]) {
    if (typeof child === 'object' && child !== null) deepFreeze(child);
  }
  return Object.freeze(value);
}
