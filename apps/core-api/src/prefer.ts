import { SecboxError } from '@secbox/contracts';
import type { Request } from 'express';

/** How long a caller wants its answer to wait for the end of an exec: for as long as it takes by default. */
export type WaitMs = number;

const forever: WaitMs = Number.POSITIVE_INFINITY;
const maxWaitSeconds = 86_400;

/** Reads `Prefer: respond-async`, `Prefer: wait=<seconds>` (RFC 7240) and `?wait=false`. */
export function preferredWait(request: Pick<Request, 'query' | 'headers'>): WaitMs {
  const asked: unknown = request.query['wait'];
  if (asked !== undefined && asked !== 'true' && asked !== 'false') {
    throw new SecboxError('invalid_request', '"wait" in the URL must be true or false.');
  }
  const preferences = String(request.headers['prefer'] ?? '')
    .split(',')
    .map((preference) => preference.trim().toLowerCase());
  if (asked === 'false' || preferences.includes('respond-async')) {
    // RFC 7240: with both, wait is how long to try before answering asynchronously.
    return waitOf(preferences) ?? 0;
  }
  return waitOf(preferences) ?? forever;
}

/** A preference that makes no sense is ignored, as the RFC has it. */
function waitOf(preferences: readonly string[]): WaitMs | undefined {
  const seconds = preferences
    .map((preference) => /^wait\s*=\s*"?(\d{1,9})"?$/.exec(preference)?.[1])
    .find((match) => match !== undefined);
  return seconds === undefined ? undefined : Math.min(Number(seconds), maxWaitSeconds) * 1000;
}
