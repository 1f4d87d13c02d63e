import { SecboxError } from '@secbox/contracts';
import type { RequestHandler } from 'express';
import { hasBody } from './has-body.js';
import { sendError } from './send-error.js';

/** An upload that brings less than this between two looks stands still. */
const leastProgressBytes = 1024;
/** The call that takes a file as it comes. */
const putFile = /^PUT .*\/file\/?$/i;
/** How long whoever was answered may go on sending what nobody reads. */
const lingerMs = 2000;

/**
 * Ends requests whose body does not come: JSON has to be there as a whole within the time, an upload, which may take
 * as long as it has to, must go on within it. Nobody keeps a connection by sending slowly, before the answer or after it.
 */
export function bodyDeadline(timeoutMs: number): RequestHandler {
  return (request, response, next) => {
    if (!hasBody(request)) {
      next();
      return;
    }
    // By what the call is, as programs send a file with whichever type it has, or none.
    const isFile = putFile.test(`${request.method} ${request.path}`);
    const isUpload = isFile || typeof request.is('multipart/form-data') === 'string';
    let received = request.socket.bytesRead;
    const timer = setInterval(() => {
      const before = received;
      received = request.socket.bytesRead;
      if (request.complete || (isUpload && received - before >= leastProgressBytes)) return;
      clearInterval(timer);
      if (response.headersSent) {
        request.destroy();
        return;
      }
      response.setHeader('connection', 'close');
      response.once('finish', () => request.destroy());
      sendError(response, late(timeoutMs, isUpload));
    }, timeoutMs);
    request.once('end', () => clearInterval(timer));
    request.once('close', () => clearInterval(timer));
    response.once('finish', () => {
      if (!request.complete) setTimeout(() => !request.complete && request.destroy(), lingerMs).unref();
    });
    next();
  };
}

function late(timeoutMs: number, isUpload: boolean): SecboxError {
  const what = isUpload ? 'The upload stood still for' : 'The body did not arrive within';
  return new SecboxError('request_timeout', `${what} ${timeoutMs / 1000} s.`);
}
