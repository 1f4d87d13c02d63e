import type { Principal } from '@secbox/access';
import { everyone } from '@secbox/access';
import type { Caller } from '@secbox/exec-runner';
import type { Request, Response } from 'express';

const name = 'secbox.caller';

export function setCaller(response: Response, caller: Principal): void {
  response.locals[name] = caller;
}

/** Who was let in; of a route that takes no key, nobody in particular, without any role. */
export function callerOf(response: Response): Principal {
  return (response.locals[name] as Principal | undefined) ?? { ...everyone, roles: [] };
}

/** Who asks for an exec, and from where. */
export function askerOf(request: Request, { tenant, actor }: Principal): Caller {
  return { tenant, actor, address: request.ip ?? null };
}
