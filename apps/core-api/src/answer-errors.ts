import { SecboxError, httpStatusOf } from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import { bodyErrorOf } from './json-body.js';

export const routeNotFound: RequestHandler = (request) => {
  throw new SecboxError('route_not_found', `There is no ${request.method} ${request.path}.`);
};

export function methodNotAllowed(...allowed: readonly string[]): RequestHandler {
  return (request, response) => {
    response.setHeader('allow', allowed.join(', '));
    throw new SecboxError(
      'method_not_allowed',
      `${request.path} takes ${allowed.join(', ')}, not ${request.method}.`,
    );
  };
}

/** The one place where an error becomes an answer. What callers are not meant to understand stays in the log. */
export function answerErrors(logger: Logger): ErrorRequestHandler {
  return (thrown: unknown, request, response, next) => {
    const error = toSecboxError(thrown);
    if (error.kind === 'internal') logger.error('http.failed', { path: request.path, error: thrown });
    if (response.headersSent) {
      next(thrown);
      return;
    }
    const retryAfter = error.details?.['retry_after_seconds'];
    if (typeof retryAfter === 'number') response.setHeader('retry-after', retryAfter);
    response.status(httpStatusOf(error.code)).json({
      error: {
        kind: error.kind,
        code: error.code,
        message: error.message,
        ...(error.details === undefined ? {} : { details: error.details }),
      },
    });
  };
}

function toSecboxError(thrown: unknown): SecboxError {
  if (thrown instanceof SecboxError) return thrown;
  const ofBody = bodyErrorOf(thrown);
  if (ofBody) return ofBody;
  if (thrown instanceof URIError)
    return new SecboxError('invalid_request', 'The URL is not encoded correctly.');
  return new SecboxError(
    'internal_error',
    'Something went wrong on our side; the log of the server says what.',
  );
}
