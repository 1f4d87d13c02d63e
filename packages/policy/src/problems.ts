import { SecboxError, type PolicyLayer, type PolicySnapshot } from '@secbox/contracts';

export type PolicyAuthority = PolicySnapshot['sources']['net.mode'];

/** Something that is not a policy at all: the asker's mistake. */
export interface MalformedPolicy {
  readonly code: 'invalid_policy';
  readonly pointer: string;
  readonly message: string;
}

/** Something that is well formed but more than its layer may have. */
export interface PolicyViolation {
  readonly code: 'policy_exceeded';
  readonly pointer: string;
  readonly message: string;
  readonly field: string;
  readonly asked: string | number | boolean | null;
  readonly asked_by: PolicyLayer;
  /** The loosest value allowed; null where nothing but the platform itself decides. */
  readonly ceiling: string | number | boolean | null;
  /** Who set that ceiling. */
  readonly layer: PolicyAuthority;
}

export type PolicyProblem = MalformedPolicy | PolicyViolation;

/** Enough to mend a document by; a hostile one could name a hundred thousand. */
const mostListed = 50;
const mostTextShown = 64;

export function malformed(pointer: string, message: string): MalformedPolicy {
  return { code: 'invalid_policy', pointer, message };
}

/** Whose ceiling it is, for people. */
const ceilingOf: Readonly<Record<PolicyAuthority, string>> = {
  hard: 'the built-in ceiling',
  engine: "what the engine's machine has",
  system: 'the system default',
  settings: "the Settings' ceiling",
  manifest: "the skill's limit",
  request: "the request's limit",
};

export function violation(facts: Omit<PolicyViolation, 'code' | 'message'>): PolicyViolation {
  const { asked, asked_by, ceiling, field, layer } = facts;
  const line =
    ceiling === null
      ? 'is never granted'
      : `may be ${typeof ceiling === 'number' ? 'at most ' : ''}${ceiling} (${ceilingOf[layer]})`;
  const message = `${field} ${line}; the ${asked_by} asked for ${JSON.stringify(asked)}`;
  return { code: 'policy_exceeded', message, ...facts };
}

/** The 400 for a malformed layer, with all of its problems. */
export function invalidPolicy(problems: readonly MalformedPolicy[]): SecboxError {
  const [first] = problems;
  const told = first === undefined ? '' : ` ${JSON.stringify(first.pointer)} ${first.message}.`;
  return new SecboxError('invalid_policy', `The policy is malformed.${told}`, {
    details: {
      problems: problems.slice(0, mostListed).map(({ pointer, message }) => ({ pointer, message })),
      problem_count: problems.length,
    },
  });
}

/** The 403 for going past a ceiling, with all of the violations. */
export function policyExceeded(violations: readonly PolicyViolation[]): SecboxError {
  const told = violations.slice(0, mostListed);
  return new SecboxError('policy_exceeded', `${told.map(({ message }) => message).join('; ')}.`, {
    details: {
      violations: told.map(({ field, asked, ceiling, layer, asked_by, pointer }) => ({
        field,
        asked,
        ceiling,
        layer,
        asked_by,
        pointer,
      })),
    },
  });
}

/** A JSON pointer one key deeper; a key of any length stays readable. */
export function pointerTo(parent: string, key: string): string {
  return `${parent}/${shorten(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** What was asked for, in a form that fits an answer and an audit row whatever it was. */
export function showAsked(value: unknown): string | number | boolean | null {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'string') return shorten(value);
  return Array.isArray(value) ? 'array' : typeof value;
}

function shorten(text: string): string {
  return text.length > mostTextShown ? `${text.slice(0, mostTextShown)}…` : text;
}
