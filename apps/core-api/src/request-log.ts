import { randomUUID } from 'node:crypto';
import type { Logger } from '@secbox/logging';
import type { RequestHandler } from 'express';
import { callerOf } from './caller.js';

/** Gives each request an id, told in the answer, and writes one line when it is over. */
export function requestLog(logger: Logger): RequestHandler {
  return (request, response, next) => {
    const requestId = randomUUID();
    const start = performance.now();
    response.setHeader('x-request-id', requestId);
    response.once('close', () => {
      const { actor, tenant } = callerOf(response);
      logger.info('http.request', {
        request_id: requestId,
        ...(actor === null ? {} : { actor, tenant }),
        method: request.method,
        path: request.path,
        status: response.statusCode,
        // The caller left before the answer; an exec goes on all the same.
        ...(response.writableFinished ? {} : { aborted: true }),
        ms: Math.round(performance.now() - start),
      });
    });
    next();
  };
}
