import { ceilingsUnder, limitsPast, outerCeilings, type EngineCapacity } from './ceilings.js';
import type { PolicySettings } from './layers.js';
import { readLayer } from './parse-overrides.js';
import {
  invalidPolicy,
  malformed,
  pointerTo,
  policyExceeded,
  type MalformedPolicy,
  type PolicyProblem,
  type PolicyViolation,
} from './problems.js';

/** The policy part of Settings as an administrator sends it or as a database holds it. */
export interface UncheckedSettings {
  readonly values?: unknown;
  readonly ceilings?: unknown;
}

type SettingsContent = Pick<PolicySettings, 'values' | 'ceilings'>;

interface SettingsReading {
  readonly settings: SettingsContent;
  readonly malformed: readonly MalformedPolicy[];
  readonly refused: readonly PolicyViolation[];
}

/** Everything that is wrong with Settings; without an engine only the built-in ceilings are asked. */
export function checkSettings(
  input: UncheckedSettings,
  engine: EngineCapacity | undefined,
  at = '',
): readonly PolicyProblem[] {
  const reading = readSettings(input, at);
  return [...reading.malformed, ...reading.refused, ...settingsViolations(reading.settings, engine, at)];
}

/** Settings that are well formed and within the built-in ceilings and the engine's; throws otherwise. */
export function parseSettings(
  input: UncheckedSettings,
  engine: EngineCapacity | undefined,
  at = '',
): SettingsContent {
  const { settings, malformed: problems, refused } = readSettings(input, at);
  if (problems.length > 0) throw invalidPolicy(problems);
  const violations = [...refused, ...settingsViolations(settings, engine, at)];
  if (violations.length > 0) throw policyExceeded(violations);
  return settings;
}

/** Settings by form alone, whatever their size. */
export function readSettings(input: UncheckedSettings, at: string): SettingsReading {
  const ceilingsAt = pointerTo(at, 'ceilings');
  const values = readLayer(
    input.values === undefined ? {} : input.values,
    pointerTo(at, 'values'),
    'settings',
  );
  const ceilings = readLayer(input.ceilings === undefined ? {} : input.ceilings, ceilingsAt, 'settings');
  const { net, ...limits } = ceilings.layer;
  const netProblem = net === undefined ? [] : [malformed(pointerTo(ceilingsAt, 'net'), 'has no ceiling')];
  return {
    settings: { values: values.layer, ceilings: limits },
    malformed: [...values.malformed, ...ceilings.malformed, ...netProblem],
    refused: [...values.refused, ...ceilings.refused],
  };
}

function settingsViolations(
  { values, ceilings }: SettingsContent,
  engine: EngineCapacity | undefined,
  at: string,
): PolicyViolation[] {
  const outer = outerCeilings(engine);
  const inner = ceilingsUnder(outer, { values, ceilings });
  return [
    ...limitsPast(outer, ceilings, 'settings', pointerTo(at, 'ceilings')),
    ...limitsPast(inner, values, 'settings', pointerTo(at, 'values')),
  ];
}
