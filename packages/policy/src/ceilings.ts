import {
  limitFields,
  SecboxError,
  type LimitField,
  type PolicyLayer,
  type PolicySnapshot,
} from '@secbox/contracts';
import { systemDefaults } from './defaults.js';
import type { PolicyLimits } from './layers.js';
import { limitForms } from './limits.js';
import { pointerTo, violation, type PolicyAuthority, type PolicyViolation } from './problems.js';

export type PolicyCeilings = PolicySnapshot['ceilings'];

interface Ceiling<Value> {
  readonly value: Value;
  readonly layer: PolicyAuthority;
}

/** What the engine's machine has. */
export interface EngineCapacity {
  readonly cpus: number;
  readonly memory_mb: number;
}

/** The engine as a policy sees it. */
export interface PolicyEngine extends EngineCapacity {
  /** What it makes containers with unless Settings say otherwise. */
  readonly defaultRuntime: string;
}

const megabyte = 1024 * 1024;

/** What no layer can go past, built in. */
export const hardCeilings: Readonly<Record<LimitField, number>> = Object.freeze({
  timeout_ms: 300_000,
  max_stdout_bytes: 16 * megabyte,
  max_stderr_bytes: 16 * megabyte,
  max_artifacts_bytes_total: 1024 * megabyte,
  memory_mb: 8192,
  cpu_cores: 8,
  pids: 2048,
});

/**
 * Whether a value is looser than a ceiling. Of two booleans true is the tighter one. What cannot be compared
 * (NaN) counts as looser, so that nothing passes by accident.
 */
export function isPast<Value extends number | boolean>(asked: Value, ceiling: Value): boolean {
  return !(looseness(asked) <= looseness(ceiling));
}

function looseness(value: number | boolean): number {
  if (typeof value === 'number') return value;
  return value ? 0 : 1;
}

/** One result per limit, in a record that names them all. */
export function perLimit<Result>(make: (field: LimitField) => Result): Record<LimitField, Result> {
  return Object.fromEntries(limitFields.map((field) => [field, make(field)])) as Record<LimitField, Result>;
}

/**
 * What Settings themselves must stay within. An engine that is not known yet sets no ceiling. Settings alone
 * decide about the root file system, so there its loosest value is the ceiling.
 */
export function outerCeilings(engine: EngineCapacity | undefined): PolicyCeilings {
  const capacity = engine === undefined ? {} : engineLimits(engine);
  return {
    ...perLimit((field) => {
      const hard = hardCeilings[field];
      const has = capacity[field];
      return has !== undefined && isPast(hard, has)
        ? { value: has, layer: 'engine' as const }
        : { value: hard, layer: 'hard' as const };
    }),
    read_only_root: { value: false, layer: 'hard' },
  };
}

/** What manifests and requests must stay within; a Settings ceiling past the outer one has no effect. */
export function ceilingsUnder(
  outer: PolicyCeilings,
  settings: { readonly values: PolicyLimits; readonly ceilings: PolicyLimits },
): PolicyCeilings {
  // Turning it off as a value is permission enough: Settings need not say it twice.
  const readOnlyRoot = settings.ceilings.read_only_root ?? settings.values.read_only_root;
  return {
    ...tightenedBy(outer, settings.ceilings, 'settings'),
    read_only_root:
      readOnlyRoot === undefined
        ? { value: systemDefaults.read_only_root, layer: 'system' }
        : { value: readOnlyRoot, layer: 'settings' },
  };
}

/** The same ceilings, lowered to a layer's limits where those are tighter. */
export function tightenedBy(
  ceilings: PolicyCeilings,
  limits: PolicyLimits,
  layer: PolicyLayer,
): PolicyCeilings {
  const lower = <Value extends number | boolean>(ceiling: Ceiling<Value>, limit: Value | undefined) =>
    limit !== undefined && isPast(ceiling.value, limit) ? { value: limit, layer } : ceiling;
  return {
    ...perLimit((field) => lower(ceilings[field], limits[field])),
    read_only_root: lower(ceilings.read_only_root, limits.read_only_root),
  };
}

/** Everything in a layer that goes past its ceilings. */
export function limitsPast(
  ceilings: PolicyCeilings,
  asked: PolicyLimits,
  askedBy: PolicyLayer,
  at: string,
): PolicyViolation[] {
  return [...limitFields, 'read_only_root' as const].flatMap((field) => {
    const value = asked[field];
    const ceiling: Ceiling<number | boolean> = ceilings[field];
    if (value === undefined || !isPast(value, ceiling.value)) return [];
    const line = { ceiling: ceiling.value, layer: ceiling.layer };
    return [violation({ pointer: pointerTo(at, field), field, asked: value, asked_by: askedBy, ...line })];
  });
}

function engineLimits(engine: EngineCapacity): Partial<Record<LimitField, number>> {
  const limits = { memory_mb: Math.floor(engine.memory_mb), cpu_cores: engine.cpus };
  // An engine that is starting or failing reports 0 of everything; 0 would mean "no limit" further down.
  if (
    !(limits.memory_mb >= limitForms.memory_mb.floor) ||
    !(limits.cpu_cores >= limitForms.cpu_cores.floor)
  ) {
    throw new SecboxError('engine_unavailable', 'The engine reports no usable capacity.', {
      details: { cpus: String(engine.cpus), memory_mb: String(engine.memory_mb) },
    });
  }
  return limits;
}
