import { assertMayActFor, type Principal, type SecurityLog } from '@secbox/access';
import { parseAgentId, parseLayeredSkillId, parseUserId, SecboxError } from '@secbox/contracts';
import type { SkillPlace, UserPlace } from '@secbox/skill-layers';
import type { Request } from 'express';

/** Whom a request of the v1 API is made for, if its key may act for them; a refusal is on record. */
export function userIn(request: Request, caller: Principal, log: Pick<SecurityLog, 'refused'>): UserPlace {
  const userId = parseUserId(String(request.params['userId']));
  const agentId = parseAgentId(String(request.params['agentId']));
  try {
    assertMayActFor(caller, { userId, agentId });
  } catch (error) {
    const { tenant, actor } = caller;
    const reason = error instanceof SecboxError ? error.code : 'subject_forbidden';
    log.refused({ type: 'access_refused', tenant, actor, address: request.ip ?? null, reason });
    throw error;
  }
  return { userId, agentId };
}

export function skillIn(request: Request, caller: Principal, log: Pick<SecurityLog, 'refused'>): SkillPlace {
  const user = userIn(request, caller, log);
  return { ...user, skillId: parseLayeredSkillId(String(request.params['skillId'])) };
}

/** The envelope of the v1 API. */
export function success(data: unknown, more?: object) {
  return { status: 'success' as const, data, ...more };
}
