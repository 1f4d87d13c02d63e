import { SecboxError } from '@secbox/contracts';
import type { SkillIdentity } from '@secbox/skill-layers';
import type { ExecPlan } from '../exec-plan.js';
import type { ExecRunnerOptions } from '../runner-options.js';

/** The files of the layered skill that an exec would work on now; nothing where it works on none. */
export async function expectedSkill(
  { layered }: Pick<ExecRunnerOptions, 'layered'>,
  { tenant, layer }: Pick<ExecPlan, 'tenant' | 'layer'>,
): Promise<Pick<ExecPlan, 'expectsSkill'>> {
  if (layer?.kind !== 'skill' || !layered) return {};
  const { skill_version, skill_source } = await layered.identify(tenant, layer);
  return { expectsSkill: { skill_version, skill_source } };
}

/** Throws `approval_void` when the skill is not the one that was approved. */
export function assertSkillAsApproved(
  { expectsSkill: expected }: Pick<ExecPlan, 'expectsSkill'>,
  { skill_version, skill_source }: SkillIdentity,
): void {
  if (!expected) return;
  if (skill_version === expected.skill_version && skill_source === expected.skill_source) return;
  throw new SecboxError(
    'approval_void',
    'The files of the skill were changed since the exec was shown for approval; it was not run.',
  );
}
