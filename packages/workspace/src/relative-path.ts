import { SecboxError } from '@secbox/contracts';

declare const brand: unique symbol;

/** The checked components of a caller's relative path; made only by {@link parseRelativePath}. */
export type RelativePath = readonly string[] & { readonly [brand]: 'RelativePath' };

const maxPathBytes = 4096;
const maxComponentBytes = 255;
/** As deep as artifacts may be: each level costs a walk to it. */
const maxComponents = 32;

/**
 * Turns a caller's string into components that cannot leave the folder they are taken below.
 * Refuses what other systems would read as a separator, an escape or a drive, so that a path
 * means the same on every platform.
 */
export function parseRelativePath(text: string, field: string): RelativePath {
  const refuse = (why: string) => new SecboxError('invalid_path', `${field}: ${why}`, { details: { field } });

  if (text === '') throw refuse('a path must not be empty.');
  if (Buffer.byteLength(text) > maxPathBytes) throw refuse(`a path has at most ${maxPathBytes} bytes.`);
  if (/\p{Cc}|\p{Cs}/u.test(text)) throw refuse('a path must not hold control characters or broken Unicode.');
  if (text.includes('\\')) throw refuse('use / between folders, not \\.');
  if (text.startsWith('/') || /^[A-Za-z]:/.test(text)) throw refuse('a path must be relative.');
  if (/%2e|%2f|%5c/i.test(text)) throw refuse('a path must not be percent-encoded.');

  const components = text.split('/');
  if (components.length > maxComponents) throw refuse(`a path has at most ${maxComponents} components.`);
  for (const component of components) {
    if (component === '' || component === '.' || component === '..') {
      throw refuse('a path must not hold empty, "." or ".." components.');
    }
    if (Buffer.byteLength(component) > maxComponentBytes) {
      throw refuse(`each component has at most ${maxComponentBytes} bytes.`);
    }
  }
  return components as readonly string[] as RelativePath;
}
