import { SecboxError } from '@secbox/contracts';
import type { IncomingInput, Intake } from '@secbox/exec-runner';
import type { Request, Response } from 'express';
import multer, { type Options, type StorageEngine } from 'multer';
import { refuseHostileShapes } from './json-body.js';
import { refuseManyValues } from './json-size.js';

export interface MultipartLimits {
  /** Of the JSON part. */
  readonly maxBodyBytes: number;
  /** Of the whole request. */
  readonly maxUploadBytes: number;
}

const maxFiles = 1000;
/** The longest path there is, with its prefix. */
const maxNameBytes = 4096 + 32;
const requestPart = 'request';
const prefixes = { 'inputs/': false, 'secret-inputs/': true } as const;

/**
 * Reads a request of several parts: `request` holds the JSON body, and the name of every other part says
 * which input its file becomes. Files go to the intake as they come in and are never held in memory.
 */
export async function receiveMultipart(
  request: Request,
  response: Response,
  intake: Intake,
  limits: MultipartLimits,
): Promise<unknown> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limits.maxUploadBytes) throw tooLarge(limits.maxUploadBytes);
  let nameless: string | undefined;
  const options: Options & { streamHandler: StreamHandler } = {
    storage: storageInto(intake),
    limits: {
      fieldNameSize: maxNameBytes,
      fieldSize: limits.maxBodyBytes,
      fields: 1,
      files: maxFiles,
      headerPairs: 32,
      fieldNestingDepth: 0,
    },
    defParamCharset: 'utf8',
    streamHandler(from, busboy) {
      // The reader passes over a file part without a file name, and an input would be missing.
      busboy.on('file', (name, _stream, { filename }) => {
        if (!filename) nameless = name;
      });
      from.pipe(busboy);
    },
  };
  await new Promise<void>((resolve, reject) => {
    multer(options).any()(request, response, (error?: unknown) => {
      if (error) reject(multipartError(error as Error, limits));
      else resolve();
    });
  });
  if (nameless !== undefined) {
    throw invalid(`The part "${nameless}" has no file name; send files with one, whatever it is.`);
  }
  return bodyOf(request.body as Readonly<Record<string, unknown>>);
}

type StreamHandler = (from: Request, busboy: NodeJS.WritableStream & FileEvents) => void;

interface FileEvents {
  on(event: 'file', listener: (name: string, stream: unknown, info: { filename?: string }) => void): unknown;
}

function storageInto(intake: Intake): StorageEngine {
  return {
    _handleFile(_request, file, done) {
      Promise.resolve()
        .then(() => intake.receive(incoming(file.fieldname), file.stream))
        .then(
          () => done(null, {}),
          (error: unknown) => {
            // What is still to come of it is nobody's any more.
            file.stream.resume();
            done(error);
          },
        );
    },
    // All of them go together, when the request is refused.
    _removeFile(_request, _file, done) {
      done(null);
    },
  };
}

function incoming(name: string): IncomingInput {
  for (const [prefix, secret] of Object.entries(prefixes)) {
    if (name.startsWith(prefix)) return { path: name.slice(prefix.length), secret, field: name };
  }
  throw invalid(
    `A part named "${name}" is not known; name files inputs/<path> or secret-inputs/<path>, and the JSON "${requestPart}".`,
  );
}

function bodyOf(fields: Readonly<Record<string, unknown>>): unknown {
  const [name = requestPart] = Object.keys(fields);
  if (name !== requestPart) {
    throw invalid(`The field "${name}" is not known; inputs are sent as files, and the JSON as "request".`);
  }
  const text = fields[requestPart];
  if (typeof text !== 'string') throw invalid('The part "request", which holds the JSON body, is missing.');
  refuseManyValues(Buffer.from(text));
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new SecboxError('malformed_json', 'The part "request" is not valid JSON.');
  }
  refuseHostileShapes(body);
  return body;
}

/** The reader's own errors in our words; what the disk says is not about the request. */
function multipartError(error: Error, { maxBodyBytes }: MultipartLimits): Error {
  if (error instanceof multer.MulterError) {
    if (error.code === 'LIMIT_FIELD_VALUE') return tooLarge(maxBodyBytes);
    return invalid(limitMessages[error.code] ?? `The multipart body cannot be read: ${error.message}.`);
  }
  if (error instanceof SecboxError || 'code' in error) return error;
  return invalid('The body is not a complete multipart/form-data message.');
}

const limitMessages: Readonly<Record<string, string>> = {
  LIMIT_FILE_COUNT: `A request brings at most ${maxFiles} files.`,
  LIMIT_FIELD_COUNT: `There is one field, "${requestPart}"; inputs are sent as files, with a file name.`,
  LIMIT_FIELD_KEY: `The name of a part has at most ${maxNameBytes} bytes.`,
};

function invalid(why: string): SecboxError {
  return new SecboxError('invalid_request', why);
}

function tooLarge(limit: number): SecboxError {
  return new SecboxError('body_too_large', `The request, or a part of it, is larger than ${limit} bytes.`, {
    details: { limit_bytes: limit },
  });
}
