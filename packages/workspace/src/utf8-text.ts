import { SecboxError } from '@secbox/contracts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Throws `file_not_text` when the bytes are none. */
export function textOf(content: Buffer): string {
  try {
    return utf8.decode(content);
  } catch (error) {
    throw new SecboxError('file_not_text', 'The file is not UTF-8 text; it can be downloaded.', {
      cause: error,
    });
  }
}
