import type { Principal, SecurityLog } from '@secbox/access';
import type { SecurityEventType } from '@secbox/contracts';
import type { SkillPlace, UserPlace } from '@secbox/skill-layers';
import type { Request } from 'express';
import { auditedArea } from '../files/audited-area.js';
import type { FileArea } from '../files/file-area.js';

/** What is audited of skills as files. */
type SkillEventType = Extract<SecurityEventType, `skill_${string}`>;

/** Who asks, from where, and where it is kept. */
export interface Asking {
  readonly log: Pick<SecurityLog, 'happened'>;
  readonly request: Pick<Request, 'ip'>;
  readonly caller: Principal;
}

/** Records what was done to a skill, or to something else of a user with an agent. */
export async function recordSkill(
  { log, request, caller }: Asking,
  type: SkillEventType,
  place: UserPlace & Partial<Pick<SkillPlace, 'skillId'>>,
  details: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await log.happened(type, doer(request, caller), {
    tenant: caller.tenant,
    subject: subjectOf(place),
    details: { ...toldPlace(place), ...details },
  });
}

/** An area whose changes are on record, as of a skill or, without one, of a general sandbox. */
export function recordedArea(
  { log, request, caller }: Asking,
  place: UserPlace & Partial<Pick<SkillPlace, 'skillId'>>,
  area: FileArea,
): FileArea {
  const { tenant } = caller;
  const about = { area: place.skillId === undefined ? 'sandbox' : 'skill', ...toldPlace(place) };
  return auditedArea(area, (change) =>
    log.happened('file_changed', doer(request, caller), {
      tenant,
      subject: subjectOf(place),
      details: { ...about, ...change },
    }),
  );
}

function doer({ ip }: Pick<Request, 'ip'>, { actor }: Principal) {
  return { actor, address: ip ?? null };
}

function subjectOf({ agentId, skillId }: UserPlace & Partial<Pick<SkillPlace, 'skillId'>>): string {
  return skillId === undefined ? agentId : `${agentId}/${skillId}`;
}

function toldPlace({ userId, agentId, skillId }: UserPlace & Partial<Pick<SkillPlace, 'skillId'>>) {
  return { user_id: userId, agent_id: agentId, ...(skillId === undefined ? {} : { skill_id: skillId }) };
}
