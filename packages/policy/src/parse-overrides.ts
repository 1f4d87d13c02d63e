import { limitFields, type LimitField, type PolicyLayer } from '@secbox/contracts';
import { findForbiddenKeys } from './forbidden-keys.js';
import type { PolicyOverrides } from './layers.js';
import { limitProblem } from './limits.js';
import {
  invalidPolicy,
  malformed,
  pointerTo,
  policyExceeded,
  showAsked,
  violation,
  type MalformedPolicy,
  type PolicyViolation,
} from './problems.js';

/** Where overrides stand in the body of a request. */
export const overridesPointer = '/policy_overrides';

/**
 * Words with which one asks for a way out of the container. They are told apart from unknown keys: who sends
 * them understood the product and tried for more, which is a 403 that an auditor wants to see.
 */
const privileges: ReadonlySet<string> = new Set([
  'binds',
  'cap_add',
  'capabilities',
  'devices',
  'image',
  'ipc',
  'mounts',
  'network',
  'network_mode',
  'pid',
  'privileged',
  'runtime',
  'seccomp',
  'security_opt',
  'user',
  'userns',
  'volumes',
]);

/** What could be read of an untrusted layer, and everything that is wrong with it. */
export interface LayerReading {
  readonly layer: PolicyOverrides;
  readonly malformed: readonly MalformedPolicy[];
  readonly refused: readonly PolicyViolation[];
}

/** Reads one layer from untrusted JSON; throws with every problem, never with any other error. */
export function parseOverrides(input: unknown, at = overridesPointer): PolicyOverrides {
  const reading = readLayer(input, at, 'request');
  if (reading.malformed.length > 0) throw invalidPolicy(reading.malformed);
  if (reading.refused.length > 0) throw policyExceeded(reading.refused);
  return reading.layer;
}

export function readLayer(input: unknown, at: string, askedBy: PolicyLayer): LayerReading {
  if (!isPlainObject(input)) {
    return { layer: {}, malformed: [malformed(at, 'must be an object')], refused: [] };
  }
  const layer: { -readonly [Key in keyof PolicyOverrides]: PolicyOverrides[Key] } = {};
  const problems = findForbiddenKeys(input, at);
  const refused: PolicyViolation[] = [];
  const told = new Set(problems.map(({ pointer }) => pointer));

  for (const [key, value] of Object.entries(input)) {
    const pointer = pointerTo(at, key);
    if (isLimitField(key)) {
      const problem = limitProblem(key, value);
      if (problem === undefined) layer[key] = value as number;
      else problems.push(malformed(pointer, problem));
    } else if (key === 'read_only_root') {
      if (typeof value === 'boolean') layer.read_only_root = value;
      else problems.push(malformed(pointer, 'must be true or false'));
    } else if (key === 'net') {
      const net = readNet(value, pointer, askedBy);
      problems.push(...net.malformed.filter((problem) => !told.has(problem.pointer)));
      refused.push(...net.refused);
      if (net.layer.net !== undefined) layer.net = net.layer.net;
    } else if (privileges.has(key)) {
      const asked = showAsked(value);
      refused.push(
        violation({ pointer, field: key, asked, asked_by: askedBy, ceiling: null, layer: 'hard' }),
      );
    } else if (!told.has(pointer)) {
      problems.push(malformed(pointer, 'is not a policy field'));
    }
  }
  return { layer, malformed: problems, refused };
}

/** No network is the only network, so every other name of one asks for more; what is no name is malformed. */
function readNet(value: unknown, at: string, askedBy: PolicyLayer): LayerReading {
  if (!isPlainObject(value)) {
    return { layer: {}, malformed: [malformed(at, 'must be {"mode": "none"}')], refused: [] };
  }
  const pointer = pointerTo(at, 'mode');
  const problems = Object.keys(value)
    .filter((key) => key !== 'mode')
    .map((key) => malformed(pointerTo(at, key), 'is not a policy field'));
  const mode = Object.hasOwn(value, 'mode') ? value['mode'] : undefined;
  if (mode === 'none') return { layer: { net: { mode } }, malformed: problems, refused: [] };
  if (typeof mode !== 'string' || mode === '') {
    return { layer: {}, malformed: [...problems, malformed(pointer, 'must be "none"')], refused: [] };
  }
  const asked = { field: 'net.mode', asked: showAsked(mode), asked_by: askedBy };
  const refused = [violation({ pointer, ...asked, ceiling: 'none', layer: 'hard' })];
  return { layer: {}, malformed: problems, refused };
}

function isLimitField(key: string): key is LimitField {
  return (limitFields as readonly string[]).includes(key);
}

/** Plain in any realm: made by a literal, by JSON.parse or without a prototype. Only own keys are ever read. */
function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
