import { Buffer } from 'node:buffer';
import { gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';
import { maxText } from './value.js';

/** Bytes are held as texts of one character each; undefined is what cannot be decoded. */
export type Decoder = (text: string) => string | undefined;

const unpacked = { maxOutputLength: maxText };

export const decoders = {
  base64: (text) => {
    const plain = text.replace(/\s/g, '').replace(/-/g, '+').replace(/_/g, '/');
    return /^[A-Za-z0-9+/]*={0,2}$/.test(plain) ? Buffer.from(plain, 'base64').toString('latin1') : undefined;
  },
  base32: (text) => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
    let bits = '';
    for (const character of text.replace(/=+$/, '').toUpperCase()) {
      const at = alphabet.indexOf(character);
      if (at < 0) return undefined;
      bits += at.toString(2).padStart(5, '0');
    }
    return (bits.match(/.{8}/g) ?? []).map((byte) => String.fromCharCode(Number.parseInt(byte, 2))).join('');
  },
  hex: (text) => {
    const plain = text.replace(/\s/g, '');
    return /^([0-9a-f]{2})*$/i.test(plain) ? Buffer.from(plain, 'hex').toString('latin1') : undefined;
  },
  rot13: (text) =>
    text.replace(/[a-z]/gi, (letter) => {
      const first = letter <= 'Z' ? 65 : 97;
      return String.fromCharCode(((letter.charCodeAt(0) - first + 13) % 26) + first);
    }),
  zlib: (text) => attempt(() => inflateSync(bytesOf(text), unpacked)),
  deflate: (text) => attempt(() => inflateRawSync(bytesOf(text), unpacked)),
  gzip: (text) => attempt(() => gunzipSync(bytesOf(text), unpacked)),
  utf8: (text) => bytesOf(text).toString('utf8'),
  percent: (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return undefined;
    }
  },
} as const satisfies Record<string, Decoder>;

export type DecoderName = keyof typeof decoders;

export function bytesOf(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

/** What a text is in bytes, one character each. */
export function encoded(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

function attempt(decode: () => Buffer): string | undefined {
  try {
    return decode().toString('latin1');
  } catch {
    return undefined;
  }
}
