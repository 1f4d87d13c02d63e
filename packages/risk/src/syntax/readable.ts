import type { AssessedLanguage } from '../language.js';

/** NUL, halves of characters, and marks that turn the direction of text (CVE-2021-42574). */
const hidden = /[\0\u202A-\u202E\u2066-\u2069]|\p{Cs}/u;
/** The same, and whole characters of two units as well: most texts have neither, which is seen sooner by units. */
const perhapsHidden = /[\0\u202A-\u202E\u2066-\u2069\uD800-\uDFFF]/;

export function hasHiddenCharacters(text: string): boolean {
  return perhapsHidden.test(text) && hidden.test(text);
}

/**
 * The text as its interpreter reads it, where the grammar reads it otherwise: bash drops NUL; python ends a line, and
 * with it a comment, also at a lone carriage return; a byte order mark is nothing.
 */
export function readable(language: AssessedLanguage, text: string): string {
  let plain = text.startsWith('\uFEFF') ? text.slice(1) : text;
  if (plain.includes('\0')) plain = plain.replaceAll('\0', '');
  if (language === 'python' && plain.includes('\r')) plain = plain.replace(/\r\n?/g, '\n');
  if (language === 'bash' && plain.includes('\r\n')) plain = plain.replaceAll('\r\n', '\n');
  return plain;
}
