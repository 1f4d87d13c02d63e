import { SecboxError } from '@secbox/contracts';
import express, { type Request, type RequestHandler } from 'express';
import { refuseLargeBody } from '../json-body.js';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads a body of plain text, whatever its type says: programs send one of many, or none. */
export function textBody(limit: number): RequestHandler[] {
  return [refuseLargeBody(limit), express.raw({ limit, type: () => true })];
}

export function textIn(request: Request): string {
  const body: unknown = request.body;
  if (!Buffer.isBuffer(body)) return '';
  try {
    return utf8.decode(body);
  } catch (error) {
    throw new SecboxError('invalid_request', 'The body must be UTF-8 text; send bytes to …/file.', {
      cause: error,
    });
  }
}

/** The bytes of a body as they come; one that is cut off is an error, never a short file. */
export async function* bytesIn(request: Request): AsyncGenerator<Buffer> {
  try {
    // Whoever stops reading still has an answer to give on the connection.
    for await (const piece of request.iterator({ destroyOnReturn: false })) yield piece as Buffer;
  } catch (error) {
    throw new SecboxError('invalid_request', 'The body ended before it was complete.', { cause: error });
  } finally {
    // What is still to come of it is nobody's any more.
    request.resume();
  }
  if (!request.complete) throw new SecboxError('invalid_request', 'The body ended before it was complete.');
}

const checkedBytes = 8 * 1024 ** 2;

/** The same bytes, for as long as there is room for more: looked at now and then, as others receive too. */
export async function* whileThereIsRoom(
  content: AsyncIterable<Buffer>,
  assertRoom: () => void,
): AsyncGenerator<Buffer> {
  let unchecked = 0;
  for await (const piece of content) {
    unchecked += piece.length;
    if (unchecked >= checkedBytes) {
      assertRoom();
      unchecked = 0;
    }
    yield piece;
  }
}

/** What a change begins from, by the headers that HTTP has for it. `etagNow` is of what is to be changed. */
export async function preconditionIn(
  { headers }: Pick<Request, 'headers'>,
  etagNow: () => Promise<string>,
): Promise<{ ifMatch?: string; ifAbsent?: boolean }> {
  const { 'if-match': match, 'if-none-match': none } = headers;
  if (none !== undefined && none.trim() !== '*') throw unreadable('If-None-Match', '*');
  return {
    ...(match === undefined ? {} : { ifMatch: await oneOf(tagsIn(match), etagNow) }),
    ...(none === undefined ? {} : { ifAbsent: true }),
  };
}

const tag = '(?:W/)?"[^"]*"';
const tags = new RegExp(`^\\s*(?:\\*|${tag}(?:\\s*,\\s*${tag})*)\\s*$`);

/** A weak one stays as it is written, so that it is that of no file: here only strong ones match. */
function tagsIn(match: string): readonly string[] {
  if (!tags.test(match)) throw unreadable('If-Match', 'ETags in double quotes, or *');
  const found = [...match.matchAll(new RegExp(tag, 'g'))].map(([each]) => each.replace(/^"(.*)"$/, '$1'));
  return found.length === 0 ? ['*'] : found;
}

/** Of several, the one that holds now is what the change begins from; it is looked at again when it is made. */
async function oneOf([first = '*', ...others]: readonly string[], etagNow: () => Promise<string>) {
  if (others.length === 0) return first;
  // What cannot be told now, the change itself will say.
  const now = await etagNow().catch(() => first);
  return others.includes(now) ? now : first;
}

function unreadable(header: string, wanted: string): SecboxError {
  return new SecboxError('invalid_request', `${header} must be ${wanted}.`, { details: { header } });
}
