import {
  layeredProject,
  type AgentId,
  type LayeredSkillId,
  type ProjectId,
  type UserId,
} from '@secbox/contracts';
import { hardCeilings, mergePolicy, type PolicyInputs, type PolicyOverrides } from '@secbox/policy';

/** Whose files an exec works on, instead of a project's: those of a layered skill, or of the general sandbox. */
export type PlannedLayer = { readonly userId: UserId; readonly agentId: AgentId } & (
  { readonly kind: 'skill'; readonly skillId: LayeredSkillId } | { readonly kind: 'sandbox' }
);

/** What such execs are on record under, beside whose they are. */
export function projectOfLayer({ kind, userId, agentId }: PlannedLayer): ProjectId {
  return layeredProject(kind, userId, agentId);
}

/** They may take as long as any exec may, unless an administrator says otherwise. */
export function limitsOfLayer(inputs: Pick<PolicyInputs, 'engine' | 'settings'>): PolicyOverrides {
  const { timeout_ms: most } = mergePolicy(inputs).ceilings;
  return { timeout_ms: Math.min(hardCeilings.timeout_ms, most.value) };
}
