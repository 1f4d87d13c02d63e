import { createHash } from 'node:crypto';
import { ConnectionError } from './api-error.js';

/** A file on the server that is being downloaded. Read it, or let it go. */
export interface StoredFile {
  readonly size: number | undefined;
  /** What was recorded; undefined where the server does not say. */
  readonly sha256: string | undefined;
  readonly mediaType: string;
  /** At the pace of whoever reads. */
  readonly body: ReadableStream<Uint8Array>;
  /** All of it, after its hash was compared. */
  bytes(): Promise<Uint8Array>;
  cancel(): Promise<void>;
}

export function storedFile(response: Response): StoredFile {
  const length = response.headers.get('content-length');
  const sha256 = /^"([0-9a-f]{64})"$/.exec(response.headers.get('etag') ?? '')?.[1];
  const body = response.body ?? new ReadableStream<Uint8Array>({ start: (controller) => controller.close() });
  return {
    size: length === null ? undefined : Number(length),
    sha256,
    mediaType: response.headers.get('content-type') ?? 'application/octet-stream',
    body,
    bytes: async () => {
      const bytes = new Uint8Array(await new Response(body).arrayBuffer());
      if (sha256 !== undefined && createHash('sha256').update(bytes).digest('hex') !== sha256) {
        throw new ConnectionError('The file', 'what arrived does not have the hash that was recorded');
      }
      return bytes;
    },
    cancel: () => body.cancel(),
  };
}
