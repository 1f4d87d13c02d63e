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

/** Python loads modules from beside its script, from the folder it works in, and from wherever code says. */
function mayLoadModules({ command, args }: Pick<PlannedCommand, 'command' | 'args'>): boolean {
  return [command, ...args].some(
    (word) => word.includes('python') || word.startsWith(`${containerPaths.inputs}/`),
  );
}

/** Whether what an input holds is part of what the command does, as far as one can tell. */
export function takesPart(command: Pick<PlannedCommand, 'command' | 'args'>, path: string): boolean {
  if (command.args.includes(`${containerPaths.inputs}/${path}`)) return true;
  return isModule(path) && mayLoadModules(command);
}

/** The inputs that were looked at to tell how dangerous an exec is; nothing where none can take part. */
export function lookedAt(
  { command }: Pick<ExecPlan, 'command'>,
  expected: readonly ExpectedInput[],
): Pick<ExecPlan, 'lookedAt'> {
  return mayLoadModules(command) ? { lookedAt: expected.filter(({ path }) => takesPart(command, path)) } : {};
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
