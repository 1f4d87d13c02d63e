import { SecboxError } from '@secbox/contracts';
import express, { type RequestHandler } from 'express';
import { refuseManyValues } from './json-size.js';
import { sendError } from './send-error.js';

/** Reads a JSON body of at most `limit` bytes, also after it was unpacked; anything but JSON is refused. */
export function jsonBody(limit: number): RequestHandler[] {
  return [
    (request, _response, next) => {
      if (!request.is('application/json') || !isUtf8(request.headers['content-type'] ?? '')) {
        throw new SecboxError(
          'unsupported_media_type',
          'Send the request as JSON in UTF-8, with "content-type: application/json".',
        );
      }
      next();
    },
    refuseLargeBody(limit),
    express.json({
      limit,
      strict: true,
      type: 'application/json',
      verify: (_request, _response, bytes) => refuseManyValues(bytes),
    }),
    (request, _response, next) => {
      refuseHostileShapes(request.body);
      next();
    },
  ];
}

/** The readers behind it take all of a body that is too large before they say so; whoever sends it is told now. */
export function refuseLargeBody(limit: number): RequestHandler {
  return (request, response, next) => {
    if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
    let received = 0;
    request.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received > limit && !response.headersSent) sendError(response, tooLarge(limit));
    });
    next();
  };
}

function isUtf8(contentType: string): boolean {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1];
  return charset === undefined || /^utf-8$/i.test(charset);
}

function tooLarge(limit: number): SecboxError {
  return new SecboxError('body_too_large', `The body is larger than ${limit} bytes.`, {
    details: { limit_bytes: limit },
  });
}

const prototypeKeys = ['__proto__', 'constructor', 'prototype'];
const maxDepth = 32;

/** Keys that would reach an object's prototype, and nesting that no request of ours has; without recursion. */
export function refuseHostileShapes(body: unknown): void {
  let level: unknown[] = [body];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) {
      throw new SecboxError('invalid_request', `A body is nested at most ${maxDepth} levels deep.`);
    }
    const objects = level.filter((value): value is object => typeof value === 'object' && value !== null);
    const hostile = prototypeKeys.find((key) => objects.some((object) => Object.hasOwn(object, key)));
    if (hostile !== undefined) {
      throw new SecboxError('invalid_request', `The key "${hostile}" is not allowed anywhere in a request.`);
    }
    level = objects.flatMap((object) => Object.values(object) as unknown[]);
  }
}

const codesOfBodyErrors = {
  'entity.too.large': 'body_too_large',
  'entity.parse.failed': 'malformed_json',
  'encoding.unsupported': 'unsupported_media_type',
  'charset.unsupported': 'unsupported_media_type',
  'request.aborted': 'invalid_request',
  'request.size.invalid': 'invalid_request',
} as const;

/** The body reader's own errors in our words; undefined when `error` is not one of them. */
export function bodyErrorOf(error: unknown): SecboxError | undefined {
  const { type, limit } = error as { type?: string; limit?: number };
  if (type === undefined || !Object.hasOwn(codesOfBodyErrors, type)) return undefined;
  const code = codesOfBodyErrors[type as keyof typeof codesOfBodyErrors];
  switch (code) {
    case 'body_too_large':
      return tooLarge(limit ?? 0);
    case 'malformed_json':
      return new SecboxError(code, 'The body is not valid JSON.');
    case 'unsupported_media_type':
      return new SecboxError(code, 'The body has an encoding or character set that is not supported.');
    case 'invalid_request':
      return new SecboxError(code, 'The body ended before it was complete.');
  }
}
