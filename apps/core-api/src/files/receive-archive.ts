import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { SecboxError } from '@secbox/contracts';
import type { Request, Response } from 'express';
import multer from 'multer';
import { whileThereIsRoom } from './receive-body.js';

export interface ReceivedArchive {
  readonly path: string;
  /** As the client calls it. */
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const maxNameBytes = 1024;

/** Receives the one file of a multipart request into a folder, as it comes. */
export async function receiveArchive(
  request: Request,
  response: Response,
  folder: string,
  { maxBytes, assertRoom }: { readonly maxBytes: number; readonly assertRoom: () => void },
): Promise<ReceivedArchive> {
  if (request.is('multipart/form-data') !== 'multipart/form-data') {
    throw new SecboxError('unsupported_media_type', 'Send the archive as multipart/form-data, as "file".');
  }
  if (Number(request.headers['content-length'] ?? 0) > maxBytes + overhead) throw tooLarge(maxBytes);
  const path = join(folder, 'archive.zip');
  const storage: multer.StorageEngine = {
    _handleFile: (_request, file, done) => {
      const received = pipeline(whileThereIsRoom(file.stream, assertRoom), createWriteStream(path));
      received.then(
        () => done(null, { path }),
        (error: unknown) => done(error),
      );
    },
    // With the folder it is in.
    _removeFile: (_request, _file, done) => done(null),
  };
  const read = multer({
    storage,
    defParamCharset: 'utf8',
    limits: {
      fileSize: maxBytes,
      files: 1,
      fields: 2,
      fieldSize: maxNameBytes,
      fieldNameSize: maxNameBytes,
      headerPairs: 32,
      fieldNestingDepth: 0,
    },
  }).single('file');
  await new Promise<void>((resolve, reject) => {
    void read(request, response, (error?: unknown) => {
      if (error) reject(archiveError(error as Error, maxBytes));
      else resolve();
    });
  });
  const { file } = request;
  if (!file) throw invalid('The part "file", with the archive and a file name, is missing.');
  if (Buffer.byteLength(file.originalname) > maxNameBytes) throw invalid('The file name is too long.');
  return {
    path: file.path,
    name: file.originalname,
    fields: { ...(request.body as Readonly<Record<string, unknown>>) },
  };
}

/** Of the form itself, beside the file. */
const overhead = 64 * 1024;

/** The reader's own errors in our words; what the disk says is not about the request. */
function archiveError(error: Error, maxBytes: number): Error {
  if (error instanceof multer.MulterError) {
    if (error.code === 'LIMIT_FILE_SIZE') return tooLarge(maxBytes);
    return invalid(`There is one file, "file", and nothing beside it but "scope": ${error.message}.`);
  }
  if (error instanceof SecboxError || 'code' in error) return error;
  return invalid('The body is not a complete multipart/form-data message.');
}

function invalid(why: string): SecboxError {
  return new SecboxError('invalid_request', why);
}

function tooLarge(limit: number): SecboxError {
  return new SecboxError('archive_too_large', `An archive has at most ${limit} bytes.`, {
    details: { limit: 'archiveBytes', most: limit },
  });
}
