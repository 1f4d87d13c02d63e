import { crc32 } from 'node:zlib';
import iconv from 'iconv-lite';
import { invalidArchive } from './archive-limits.js';
import { findExtra, type ZipEntry } from './zip-directory.js';

const utf8Flag = 0x800;
/** Info-ZIP's: the name in UTF-8, for a packer that wrote the plain field in something else. */
const unicodePathExtra = 0x7075;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The names of all entries. Packers without the UTF-8 flag wrote in the encoding of their system, and all of an
 * archive in the same: what is not UTF-8 throughout is read as GBK throughout. Only then are separators looked for, as
 * the second byte of a GBK character may be the one of a backslash.
 */
export function decodeNames(entries: readonly ZipEntry[]): string[] {
  const declared = entries.map((entry) => declaredName(entry));
  const unsaid = entries.flatMap((entry, n) => (declared[n] === undefined ? [entry.rawName] : []));
  const decode = unsaid.every((name) => decodeUtf8(name) !== undefined) ? decodeUtf8 : decodeGbk;
  return entries.map((entry, n) => {
    const name = declared[n] ?? decode(entry.rawName);
    if (name === undefined)
      throw invalidArchive('a name is neither UTF-8 nor GBK', entry.rawName.toString('latin1'));
    return name.normalize('NFC');
  });
}

/** What the entry says to be UTF-8 is that, or the archive is broken. */
function declaredName(entry: ZipEntry): string | undefined {
  const bytes = (entry.flags & utf8Flag) === 0 ? unicodePath(entry) : entry.rawName;
  if (!bytes) return undefined;
  const name = decodeUtf8(bytes);
  if (name === undefined)
    throw invalidArchive('a name is not the UTF-8 it says to be', bytes.toString('latin1'));
  return name;
}

/** Counts only while the plain name is the one it was written for. */
function unicodePath({ extra, rawName }: ZipEntry): Buffer | undefined {
  const field = findExtra(extra, unicodePathExtra);
  if (!field || field.length < 6 || field[0] !== 1) return undefined;
  return field.readUInt32LE(1) === crc32(rawName) ? field.subarray(5) : undefined;
}

function decodeUtf8(bytes: Buffer): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

function decodeGbk(bytes: Buffer): string | undefined {
  if (hasOverlongDots(bytes)) return undefined;
  const name = iconv.decode(bytes, 'gbk');
  // The decoder replaces what it does not know; only what comes back as it was is meant.
  return iconv.encode(name, 'gbk').equals(bytes) ? name : undefined;
}

/** `.` and `..` in a longer form of UTF-8 than is allowed; careless readers take them for the real ones. */
function hasOverlongDots(bytes: Buffer): boolean {
  return bytes
    .toString('latin1')
    .split('/')
    .some((component) => component.includes('\xc0\xae') && /^(?:\.|\xc0\xae){1,2}$/.test(component));
}
