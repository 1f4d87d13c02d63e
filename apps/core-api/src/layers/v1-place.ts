import { assertMayActFor, type Principal, type SecurityLog } from '@secbox/access';
import { parseAgentId, parseLayeredSkillId, parseUserId, SecboxError } from '@secbox/contracts';
import type { SkillPlace, UserPlace } from '@secbox/skill-layers';
import type { Request } from 'express';

/** Whom a request of the v1 API is made for, if its key may act for them; a refusal is on record. */
export function userIn(request: Request, caller: Principal, log: Pick<SecurityLog, 'refused'>): UserPlace {
  const userId = parseUserId(String(request.params['userId']));
  const agentId = parseAgentId(String(request.params['agentId']));
  refusedOnRecord({ request, caller, log }, () => {
    assertMayActFor(caller, { userId, agentId });
  });
  const uses = caller.roles.some((role) => role === 'worker' || role === 'author');
  return { userId, agentId, ...(uses ? {} : { onlyLooks: true }) };
}

export function skillIn(request: Request, caller: Principal, log: Pick<SecurityLog, 'refused'>): SkillPlace {
  const user = userIn(request, caller, log);
  return { ...user, skillId: parseLayeredSkillId(String(request.params['skillId'])) };
}

interface Asking {
  readonly request: Pick<Request, 'ip'>;
  readonly caller: Principal;
  readonly log: Pick<SecurityLog, 'refused'>;
}

/** What a key asked for and was forbidden is on record; what was merely wrong is not. */
export function refusedOnRecord<T>({ request, caller, log }: Asking, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof SecboxError && error.kind === 'forbidden') {
      const { tenant, actor } = caller;
      const address = request.ip ?? null;
      log.refused({ type: 'access_refused', tenant, actor, address, reason: error.code });
    }
    throw error;
  }
}

/** The envelope of the v1 API. */
export function success(data: unknown, more?: object) {
  return { status: 'success' as const, data, ...more };
}
