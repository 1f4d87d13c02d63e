import type { ApprovalSettings } from '@secbox/contracts';
import type { RiskLevel } from '@secbox/risk';

/** What a human's word may be needed for. */
export interface ApprovalSubject {
  readonly tenant: string;
  readonly skillId: string | null;
  /** Whether the skill's own manifest asks for it. */
  readonly skillAsks: boolean;
}

/** Under which condition a human has to agree to an exec. */
export interface Requirement {
  /** Whatever it does; says why. */
  readonly always: string | undefined;
  readonly fromLevel: RiskLevel | undefined;
}

/** Undefined where nobody has to be asked, whatever the exec does: then nobody need look at what it does either. */
export function requirementFor(
  settings: ApprovalSettings | undefined,
  { tenant, skillId, skillAsks }: ApprovalSubject,
): Requirement | undefined {
  if (!settings && !skillAsks) return undefined;
  const tenants = settings?.tenants ?? {};
  const rules = { ...settings, ...(Object.hasOwn(tenants, tenant) ? tenants[tenant] : {}) };
  const fromLevel = rules.from_level ?? undefined;
  const always = reasonFor(skillId, skillAsks, rules.skills ?? [], fromLevel);
  return always === undefined && fromLevel === undefined ? undefined : { always, fromLevel };
}

function reasonFor(
  skillId: string | null,
  skillAsks: boolean,
  skills: readonly string[],
  fromLevel: RiskLevel | undefined,
): string | undefined {
  if (skillId !== null && skillAsks) return `The manifest of ${skillId} asks for it.`;
  if (skillId !== null && skills.includes(skillId)) return `Settings ask for it for ${skillId}.`;
  return fromLevel === 'SAFE' ? 'Settings ask for it for everything.' : undefined;
}
