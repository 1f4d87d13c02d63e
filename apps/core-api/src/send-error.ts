import { httpStatusOf, type SecboxError } from '@secbox/contracts';
import type { Response } from 'express';
import { hasBody } from './has-body.js';

/** The one form that errors are answered in. */
export function sendError(response: Response, error: SecboxError): void {
  // A connection that is closed on a body that still comes takes the answer with it; body-deadline.ts closes it in time.
  if (hasBody(response.req) && !response.req.complete) response.shouldKeepAlive = true;
  const retryAfter = error.details?.['retry_after_seconds'];
  if (typeof retryAfter === 'number') response.setHeader('retry-after', retryAfter);
  const { kind, code, message, details } = error;
  const told = { kind, code, message, ...(details === undefined ? {} : { details }) };
  // The v1 API has an envelope of its own.
  const isV1 = response.req.originalUrl.startsWith('/v1/');
  response.status(httpStatusOf(code)).json(isV1 ? { status: 'error', data: told } : { error: told });
}
