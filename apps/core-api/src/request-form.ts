import { SecboxError } from '@secbox/contracts';
import type { RequestHandler } from 'express';

/** What is said once. Of two, a proxy before us might have believed the other one. */
const once = new Set([
  'authorization',
  'content-type',
  'host',
  'idempotency-key',
  'if-match',
  'last-event-id',
  'origin',
  'x-api-key',
]);

/** Refuses requests that can be read in more than one way: whom they are for, or who sends them. */
export const unambiguousRequest: RequestHandler = (request, _response, next) => {
  const seen = new Set<string>();
  for (let n = 0; n < request.rawHeaders.length; n += 2) {
    const name = (request.rawHeaders[n] ?? '').toLowerCase();
    if (!once.has(name)) continue;
    if (seen.has(name)) {
      throw new SecboxError('invalid_request', `The header ${name} is given more than once.`);
    }
    seen.add(name);
  }
  if (seen.has('authorization') && seen.has('x-api-key')) {
    throw new SecboxError('invalid_request', 'Send one key: as Authorization or as X-API-Key, not both.');
  }
  next();
};
