import {
  assertAllowed,
  everyone,
  KeyTries,
  type ApiKeys,
  type Principal,
  type Refusal,
  type RefusedKey,
  type RequiredAccess,
  type SecurityLog,
} from '@secbox/access';
import { SecboxError } from '@secbox/contracts';
import type { Request, Response } from 'express';
import { setCaller } from './caller.js';
import type { Guard } from './guarded-routes.js';
import { assertWithinRate, tellRate, type KeyRate } from './key-rate.js';

export interface DoorOptions {
  /** Off: whoever reaches the server may do everything. */
  readonly auth: 'keys' | 'off';
  readonly keys: Pick<ApiKeys, 'authenticate'>;
  readonly log: Pick<SecurityLog, 'refused'>;
  readonly rate: KeyRate;
}

/** An answer may take longer than its key holds. */
const askAgainMs = 2000;

/** Stands before every route: who asks, how often, and whether this is for them. */
export function doorOf({ auth, keys, log, rate }: DoorOptions): Guard {
  const tries = new KeyTries(keys, () => performance.now());

  const enter = async (request: Request, response: Response): Promise<Principal> => {
    if (auth === 'off') return everyone;
    const text = keyIn(request);
    const address = request.ip ?? null;
    const found = await known(tries.authenticate(text, address));
    if ('principal' in found) {
      endWithKey(text, request, response);
      return found.principal;
    }
    if ('retryAfterSeconds' in found) {
      const reason = 'too many tries';
      log.refused({ type: 'login_refused', tenant: null, actor: null, address, reason });
      throw tooManyTries(found.retryAfterSeconds);
    }
    log.refused(refusalOf(found, address));
    response.setHeader('www-authenticate', 'Bearer realm="secbox"');
    throw unauthenticated();
  };

  /** Whoever follows an exec or reads an export is cut off when the key is revoked or expires. */
  const endWithKey = (text: string | undefined, request: Request, response: Response) => {
    // Who left while the key was looked up is not heard of again.
    if (response.closed) return;
    const look = async () => {
      const found = await keys.authenticate(text);
      if ('principal' in found) return;
      log.refused(refusalOf(found, request.ip ?? null));
      request.socket.destroy();
    };
    // A database that does not answer says nothing about the key.
    const timer = setInterval(() => void look().catch(() => undefined), askAgainMs).unref();
    response.once('close', () => clearInterval(timer));
  };

  const limitRate = (caller: Principal, response: Response) => {
    const state = rate(caller);
    if (state) tellRate(response, state);
    assertWithinRate(state);
  };

  return (route, access) => async (request, response, next) => {
    if (access !== 'open') {
      const caller = await enter(request, response);
      setCaller(response, caller);
      limitRate(caller, response);
      admit(caller, access, { route, address: request.ip ?? null, log });
    }
    next();
  };
}

export interface Admission {
  readonly route: string;
  readonly address: string | null;
  readonly log: Pick<SecurityLog, 'refused'>;
}

/** Throws, and has it on record, when this is not for the caller. */
export function admit(caller: Principal, access: RequiredAccess, { route, address, log }: Admission): void {
  try {
    assertAllowed(caller, access);
  } catch (error) {
    const { tenant, actor } = caller;
    log.refused({ type: 'access_refused', tenant, actor, address, reason: route });
    throw error;
  }
}

function refusalOf({ refused: reason, key }: RefusedKey, address: string | null): Refusal {
  const [tenant, actor] = [key?.tenant ?? null, key?.key_id ?? null];
  return { type: 'login_refused', tenant, actor, address, reason };
}

function keyIn({ headers }: Request): string | undefined {
  const { authorization } = headers;
  if (authorization !== undefined) return /^bearer +(\S+) *$/i.exec(authorization)?.[1] ?? '';
  const header = headers['x-api-key'];
  return typeof header === 'string' ? header : undefined;
}

/** One answer for every reason, so that nobody learns which keys there are or were. */
function unauthenticated(): SecboxError {
  return new SecboxError(
    'unauthenticated',
    'Send an API key that holds, as "Authorization: Bearer <key>" or "X-API-Key: <key>".',
  );
}

function tooManyTries(seconds: number): SecboxError {
  return new SecboxError(
    'too_many_requests',
    'Too many requests without a key that holds came from this address.',
    { details: { retry_after_seconds: seconds } },
  );
}

async function known<T>(authentication: Promise<T>): Promise<T> {
  try {
    return await authentication;
  } catch (error) {
    if (error instanceof SecboxError) throw error;
    throw new SecboxError('database_unavailable', 'Keys cannot be looked up at this moment.', {
      cause: error,
    });
  }
}
