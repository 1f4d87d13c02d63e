import { SecboxError } from '@secbox/contracts';
import express, { type RequestHandler } from 'express';

/** Reads a JSON body of at most `limit` bytes, also after it was unpacked; anything but JSON is refused. */
export function jsonBody(limit: number): RequestHandler[] {
  return [
    (request, _response, next) => {
      if (request.is('application/json')) {
        next();
        return;
      }
      throw new SecboxError(
        'unsupported_media_type',
        'Send the request as JSON, with "content-type: application/json".',
      );
    },
    express.json({ limit, strict: true, type: 'application/json' }),
    (request, _response, next) => {
      refuseHostileShapes(request.body);
      next();
    },
  ];
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
      return new SecboxError(code, `The body is larger than ${limit ?? 0} bytes.`, {
        details: { limit_bytes: limit },
      });
    case 'malformed_json':
      return new SecboxError(code, 'The body is not valid JSON.');
    case 'unsupported_media_type':
      return new SecboxError(code, 'The body has an encoding or character set that is not supported.');
    case 'invalid_request':
      return new SecboxError(code, 'The body ended before it was complete.');
  }
}
