import { pipeline } from 'node:stream/promises';
import { SecboxError } from '@secbox/contracts';
import { isErrno, type ByteRange } from '@secbox/workspace';
import type { Request, Response } from 'express';

/** A file that is open to be sent; its hash or another mark of what it is now. */
export interface SentFile {
  readonly file: {
    chunks(range?: ByteRange): AsyncIterable<Uint8Array>;
    close(): unknown;
  };
  readonly size: number;
  /** Null while it still grows. */
  readonly sha256: string | null;
  readonly mediaType: string;
}

/**
 * Programs chose these bytes: a browser must save them, never show them, guess what they are, or run
 * anything in them as ours.
 */
export function asDownload(response: Response, name: string, mediaType: string): void {
  response.attachment(name);
  response.setHeader('content-type', mediaType);
  response.setHeader('x-content-type-options', 'nosniff');
  response.setHeader('content-security-policy', "sandbox; default-src 'none'");
  response.setHeader('cross-origin-resource-policy', 'same-origin');
  response.setHeader('cache-control', 'private, no-cache');
}

/** Sends a file, under this name, or the range of it that is asked for, and closes it. */
export async function sendFile(
  request: Request,
  response: Response,
  { file, size, sha256, mediaType }: SentFile,
  name: string,
): Promise<void> {
  try {
    const range = rangeOf(request, response, size, sha256);
    asDownload(response, name, mediaType);
    response.setHeader('accept-ranges', 'bytes');
    if (sha256 !== null) response.setHeader('etag', etagOf(sha256));
    if (sha256 !== null && isKnown(request, sha256)) {
      response.status(304).end();
      return;
    }
    const { start, end } = range ?? { start: 0, end: size - 1 };
    if (range) response.status(206).setHeader('content-range', `bytes ${start}-${end}/${size}`);
    response.setHeader('content-length', end - start + 1);
    if (request.method === 'HEAD' || size === 0) {
      response.end();
      return;
    }
    await send(response, file.chunks({ start, end }));
  } finally {
    await file.close();
  }
}

/** At the pace of whoever reads; one that leaves ends it. */
export async function send(response: Response, data: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    await pipeline(data, response);
  } catch (error) {
    if (!isErrno(error, 'ERR_STREAM_PREMATURE_CLOSE')) throw error;
  }
}

/** One range of bytes; of several, or of one that makes no sense, the whole file is the answer. */
function rangeOf(request: Request, response: Response, size: number, sha256: string | null) {
  const condition = request.headers['if-range'];
  if (condition !== undefined && (sha256 === null || condition !== etagOf(sha256))) return undefined;
  const ranges = request.range(size, { combine: true });
  if (ranges === -1) {
    response.setHeader('content-range', `bytes */${size}`);
    throw new SecboxError('range_not_satisfiable', `There are only ${size} bytes.`, { details: { size } });
  }
  if (ranges === undefined || ranges === -2 || ranges.type !== 'bytes' || ranges.length !== 1)
    return undefined;
  return ranges[0];
}

/** Whether the client says that it has this very file. Not `request.fresh`: a client that asks anew still may. */
function isKnown(request: Request, sha256: string): boolean {
  const known = request.headers['if-none-match'] ?? '';
  const tags = known.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etagOf(sha256)) || known.trim() === '*';
}

export function etagOf(sha256: string): string {
  return `"${sha256}"`;
}
