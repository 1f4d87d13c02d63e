import type { FileHandle } from 'node:fs/promises';
import { type ArchiveLimits, invalidArchive, tooLarge } from './archive-limits.js';

/** What the central directory says of one entry; nothing of it is believed until it was counted. */
export interface ZipEntry {
  readonly rawName: Buffer;
  readonly extra: Buffer;
  readonly flags: number;
  readonly method: number;
  readonly crc32: number;
  readonly packedBytes: number;
  readonly bytes: number;
  /** The Unix mode with its file type, 0 where the packer gave none. */
  readonly mode: number;
  readonly dosFolder: boolean;
  /** Where its local header begins. */
  readonly offset: number;
}

const endSignature = 0x06054b50;
const endBytes = 22;
const longestComment = 0xffff;
const end64LocatorSignature = 0x07064b50;
const end64LocatorBytes = 20;
const end64Signature = 0x06064b50;
const end64Bytes = 56;
const entrySignature = 0x02014b50;
const entryBytes = 46;
const largestDirectory = 16 * 1024 ** 2;
const in64 = 0xffffffff;
const zip64Extra = 0x0001;

interface DirectoryPlace {
  readonly entries: number;
  readonly offset: number;
  readonly bytes: number;
  /** Where what ends the archive begins; the directory lies before it. */
  readonly end: number;
}

/** Reads the list at the end of a ZIP, which is the one that counts; nothing is unpacked. */
export async function readZipDirectory(file: FileHandle, limits: ArchiveLimits): Promise<ZipEntry[]> {
  const { size } = await file.stat();
  if (size > limits.archiveBytes)
    throw tooLarge('it has too many bytes', 'archiveBytes', limits.archiveBytes);
  const place = await findDirectory(file, size);
  if (place.entries === 0) throw invalidArchive('it holds nothing');
  if (place.entries > limits.entries) throw tooLarge('it has too many entries', 'entries', limits.entries);
  if (place.bytes > largestDirectory)
    throw tooLarge('its list of entries is too long', 'entries', limits.entries);
  if (place.offset + place.bytes > place.end) throw invalidArchive('its list of entries is cut off');
  const directory = await readAt(file, place.offset, place.bytes);
  const entries: ZipEntry[] = [];
  let at = 0;
  while (entries.length < place.entries) {
    const { entry, next } = parseEntry(directory, at);
    entries.push(entry);
    at = next;
  }
  // What follows unread could be entries that another program would see.
  if (at !== directory.length) throw invalidArchive('its list of entries is longer than it says');
  return entries;
}

async function findDirectory(file: FileHandle, size: number): Promise<DirectoryPlace> {
  if (size < endBytes) throw invalidArchive(size === 0 ? 'it is empty' : 'it is no ZIP');
  const tailBytes = Math.min(size, endBytes + longestComment);
  const tailAt = size - tailBytes;
  const tail = await readAt(file, tailAt, tailBytes);
  for (let at = tailBytes - endBytes; at >= 0; at -= 1) {
    if (tail.readUInt32LE(at) !== endSignature) continue;
    // A comment may hold the signature: the end is where its comment fills the rest of the file.
    if (at + endBytes + tail.readUInt16LE(at + 20) !== tailBytes) continue;
    const end = parseEnd(tail.subarray(at), tailAt + at);
    return needs64(tail.subarray(at)) ? await findDirectory64(file, end) : end;
  }
  const first = await readAt(file, 0, 4);
  const begun = first.readUInt32LE(0) === 0x04034b50;
  throw invalidArchive(begun ? 'it is cut off' : 'it is no ZIP');
}

function parseEnd(end: Buffer, at: number): DirectoryPlace {
  const disks = [end.readUInt16LE(4), end.readUInt16LE(6)];
  if (disks.some((disk) => disk !== 0 && disk !== 0xffff)) throw invalidArchive('it is one part of several');
  const entries = end.readUInt16LE(10);
  if (end.readUInt16LE(8) !== entries) throw invalidArchive('it is one part of several');
  return { entries, bytes: end.readUInt32LE(12), offset: end.readUInt32LE(16), end: at };
}

function needs64(end: Buffer): boolean {
  return end.readUInt16LE(10) === 0xffff || end.readUInt32LE(12) === in64 || end.readUInt32LE(16) === in64;
}

async function findDirectory64(file: FileHandle, end: DirectoryPlace): Promise<DirectoryPlace> {
  const locatorAt = end.end - end64LocatorBytes;
  if (locatorAt < 0) throw invalidArchive('its end is broken');
  const locator = await readAt(file, locatorAt, end64LocatorBytes);
  // 65,535 entries are told as the mark of the longer form, too.
  if (locator.readUInt32LE(0) !== end64LocatorSignature) return end;
  const at = safeNumber(locator.readBigUInt64LE(8));
  if (at + end64Bytes > locatorAt) throw invalidArchive('its end is broken');
  const record = await readAt(file, at, end64Bytes);
  if (record.readUInt32LE(0) !== end64Signature) throw invalidArchive('its end is broken');
  return {
    entries: safeNumber(record.readBigUInt64LE(32)),
    bytes: safeNumber(record.readBigUInt64LE(40)),
    offset: safeNumber(record.readBigUInt64LE(48)),
    end: at,
  };
}

function parseEntry(directory: Buffer, at: number): { readonly entry: ZipEntry; readonly next: number } {
  if (at + entryBytes > directory.length || directory.readUInt32LE(at) !== entrySignature) {
    throw invalidArchive('its list of entries is broken');
  }
  const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((field) =>
    directory.readUInt16LE(at + field),
  ) as [number, number, number];
  const nameAt = at + entryBytes;
  const extraAt = nameAt + nameBytes;
  const next = extraAt + extraBytes + commentBytes;
  if (next > directory.length) throw invalidArchive('its list of entries is broken');
  const extra = directory.subarray(extraAt, extraAt + extraBytes);
  const attributes = directory.readUInt32LE(at + 38);
  const long = sizes64(
    {
      bytes: directory.readUInt32LE(at + 24),
      packedBytes: directory.readUInt32LE(at + 20),
      offset: directory.readUInt32LE(at + 42),
    },
    extra,
  );
  const entry: ZipEntry = {
    rawName: directory.subarray(nameAt, extraAt),
    extra,
    flags: directory.readUInt16LE(at + 8),
    method: directory.readUInt16LE(at + 10),
    crc32: directory.readUInt32LE(at + 16),
    mode: attributes >>> 16,
    dosFolder: (attributes & 0x10) !== 0,
    ...long,
  };
  return { entry, next };
}

interface Sizes {
  readonly bytes: number;
  readonly packedBytes: number;
  readonly offset: number;
}

/** Fields that are all ones stand in the longer form, in this order, and only those. */
function sizes64(short: Sizes, extra: Buffer): Sizes {
  const wanted = (['bytes', 'packedBytes', 'offset'] as const).filter((field) => short[field] === in64);
  if (wanted.length === 0) return short;
  const long = findExtra(extra, zip64Extra);
  if (!long || long.length < wanted.length * 8) throw invalidArchive('the size of an entry is missing');
  const found = wanted.map((field, n) => [field, safeNumber(long.readBigUInt64LE(n * 8))]);
  return { ...short, ...(Object.fromEntries(found) as Partial<Sizes>) };
}

export function findExtra(extra: Buffer, id: number): Buffer | undefined {
  for (let at = 0; at + 4 <= extra.length;) {
    const [found, bytes] = [extra.readUInt16LE(at), extra.readUInt16LE(at + 2)];
    if (found === id && at + 4 + bytes <= extra.length) return extra.subarray(at + 4, at + 4 + bytes);
    at += 4 + bytes;
  }
  return undefined;
}

function safeNumber(value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw invalidArchive('a size in it is absurd');
  return Number(value);
}

/** Fewer bytes than asked for is an archive that is cut off. */
export async function readAt(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let read = 0;
  while (read < length) {
    const { bytesRead } = await file.read(buffer, read, length - read, offset + read);
    if (bytesRead === 0) throw invalidArchive('it is cut off');
    read += bytesRead;
  }
  return buffer;
}
