import { SecboxError } from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import { isErrno } from '@secbox/workspace';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import { bodyErrorOf } from './json-body.js';
import { sendError } from './send-error.js';

export const routeNotFound: RequestHandler = (request) => {
  if (/^\/v1\/.*\/\//.test(request.path)) {
    throw new SecboxError('invalid_id', 'An id in the path is empty.');
  }
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
  // eslint-disable-next-line @typescript-eslint/no-unused-vars -- Express knows error handlers by their four parameters.
  return (thrown: unknown, request, response, _next) => {
    const error = toSecboxError(thrown);
    if (isForTheLog(error)) {
      const requestId = response.getHeader('x-request-id');
      logger.error('http.failed', { request_id: requestId, path: request.path, error: thrown });
    }
    // Who was answered half must not take it for the whole.
    if (!response.headersSent) sendError(response, error);
    else if (!response.writableFinished) request.socket.destroy();
  };
}

/** What callers cannot mend: whoever runs the server has to hear of it. */
export function isForTheLog(error: unknown): boolean {
  if (!(error instanceof SecboxError)) return true;
  return error.kind === 'internal' || error.code === 'database_unavailable';
}

function toSecboxError(thrown: unknown): SecboxError {
  if (thrown instanceof SecboxError) return thrown;
  const ofBody = bodyErrorOf(thrown);
  if (ofBody) return ofBody;
  if (isErrno(thrown, 'ENOSPC', 'EDQUOT'))
    return new SecboxError('disk_full', 'There is no room left for it.');
  if (thrown instanceof URIError)
    return new SecboxError('invalid_request', 'The URL is not encoded correctly.');
  return new SecboxError(
    'internal_error',
    'Something went wrong on our side; the log of the server says what.',
  );
}
