import { containerPaths } from '@secbox/container-engine';
import { decidesWhatRuns } from '@secbox/risk';
import type { VisibleInput } from '@secbox/workspace';
import { canonicalJson } from '../canonical-json.js';
import type { PlannedCommand } from '../exec-command.js';
import type { ExecPlan } from '../exec-plan.js';
import { expectedInputs, type ExpectedInput } from './expected-inputs.js';

/** Those that a request set and that decide what runs. */
export function decidingVariables({ environmentKeys }: Pick<PlannedCommand, 'environmentKeys'>): string[] {
  return environmentKeys.filter(decidesWhatRuns);
}

const moduleName = /\.(py|pyc|so|pth)$/;

/** Whether python loads it where it finds it, also in place of a module of its own. */
export function isModule(path: string): boolean {
  return moduleName.test(path);
}

/**
 * Whether what an input holds is part of what the command does, as far as one can tell. A module always is: whether a
 * command runs python, and where, cannot be told from its words, which quotes and variables put together.
 */
export function takesPart({ args }: Pick<PlannedCommand, 'args'>, path: string): boolean {
  return isModule(path) || args.includes(`${containerPaths.inputs}/${path}`);
}

/** The inputs that were looked at to tell how dangerous an exec is. */
export function lookedAt(
  { command }: Pick<ExecPlan, 'command'>,
  expected: readonly ExpectedInput[],
): Required<Pick<ExecPlan, 'lookedAt'>> {
  return { lookedAt: expected.filter(({ path }) => takesPart(command, path)) };
}

/** Whether what takes part is still what was looked at. */
export function isAsLookedAt(
  plan: Pick<ExecPlan, 'execId' | 'command' | 'lookedAt'>,
  visible: readonly VisibleInput[],
): boolean {
  if (!plan.lookedAt) return true;
  const now = lookedAt(plan, expectedInputs(plan.execId, visible)).lookedAt;
  return canonicalJson(now) === canonicalJson(plan.lookedAt);
}
