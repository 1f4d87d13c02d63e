import type { ArtifactPath } from './artifact-path.js';

/**
 * An artifact's path as the name of a ZIP entry that can be unpacked anywhere and is what it looks like:
 * whatever is no plain text, changes the direction of writing or means something to some system is
 * percent-encoded, and so is a percent sign that would read as that. No two paths have one name.
 */
export function zipNameOf(path: ArtifactPath): string {
  return path.map((name) => encode(decode(name))).join('/');
}

/** Bytes that are no UTF-8 come as one character each, marked as such. */
function decode(name: Buffer): string {
  const text = name.toString('utf8');
  if (Buffer.from(text).equals(name)) return encodePercent(text);
  return encodePercent(name.toString('latin1')).replace(/[\u0080-\u00ff]/g, (byte) =>
    hex(Buffer.from(byte, 'latin1')),
  );
}

function encodePercent(text: string): string {
  return text.replace(/%(?=[0-9A-Fa-f]{2})/g, '%25');
}

const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\\:*?"<>|]|[. ]$/gu;

function encode(text: string): string {
  return text.replace(unsafe, (character) => hex(Buffer.from(character)));
}

function hex(bytes: Buffer): string {
  return [...bytes].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}
