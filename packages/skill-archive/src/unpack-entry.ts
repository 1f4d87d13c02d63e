import { createHash } from 'node:crypto';
import { closeSync, constants, fchmodSync, openSync, writeSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { crc32, createInflateRaw, inflateRaw, inflateRawSync, type ZlibOptions } from 'node:zlib';
import type { Breath } from '@secbox/workspace';
import { invalidArchive } from './archive-limits.js';
import type { ArchiveWindow } from './archive-window.js';
import { readAt, type ZipEntry } from './zip-directory.js';

export interface UnpackedFile {
  /** With `/` between its components, from the skill's root. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly executable: boolean;
}

export interface EntryTarget {
  /** Of our own making, below a folder that nobody else writes. */
  readonly file: string;
  /** Whether a file has the mode that it is made with, whatever this process's mask. */
  readonly keepsModes: boolean;
  /** What the entry is called in the archive, for messages. */
  readonly name: string;
  readonly stop?: AbortSignal | undefined;
}

const headerSignature = 0x04034b50;
const headerBytes = 30;
/** What is unpacked in one piece; whatever is larger flows. */
const wholeBytes = 1024 ** 2;
const pieceBytes = 256 * 1024;
/** What is unpacked and written sooner than another thread would have begun, in well under a millisecond. */
const atOnceBytes = 64 * 1024;
/** Local extra fields are often a little longer than those of the directory. */
const slackBytes = 256;
const deflated = 8;
const newFile = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;

/** An archive that is being unpacked. */
export interface OpenArchive {
  readonly file: FileHandle;
  readonly window: ArchiveWindow;
  /** Taken before what is done at once. */
  readonly breath: Breath;
}

/** Writes one entry; fails unless exactly the bytes come out that the directory announced. */
export async function unpackEntry(
  archive: OpenArchive,
  entry: ZipEntry,
  target: EntryTarget,
): Promise<Omit<UnpackedFile, 'path'>> {
  target.stop?.throwIfAborted();
  if (entry.packedBytes === 0 && entry.bytes > 0) throw lied(target.name);
  const executable = (entry.mode & 0o111) !== 0;
  const mode = executable ? 0o755 : 0o644;
  if (Math.max(entry.bytes, entry.packedBytes) <= atOnceBytes) {
    const sha256 = await unpackAtOnce(archive, entry, target, mode);
    return { bytes: entry.bytes, sha256, executable };
  }
  const file = await open(target.file, newFile, mode);
  try {
    const isSmall = entry.packedBytes <= wholeBytes && entry.bytes <= wholeBytes;
    const sha256 = await (isSmall ? unpackWhole : unpackFlowing)(archive, entry, file, target);
    if (!target.keepsModes) await file.chmod(mode);
    return { bytes: entry.bytes, sha256, executable };
  } finally {
    await file.close();
  }
}

async function unpackAtOnce(
  archive: OpenArchive,
  entry: ZipEntry,
  target: EntryTarget,
  mode: number,
): Promise<string> {
  const packed = await readPacked(archive, entry, target.name);
  await archive.breath.take();
  const inflated = entry.method === deflated ? inflateAtOnce(packed, entry, target.name) : packed;
  const content = checked(inflated, entry, target.name);
  const file = openSync(target.file, newFile, mode);
  try {
    for (let written = 0; written < content.length;) written += writeSync(file, content, written);
    if (!target.keepsModes) fchmodSync(file, mode);
  } finally {
    closeSync(file);
  }
  return createHash('sha256').update(content).digest('hex');
}

async function unpackWhole(
  archive: OpenArchive,
  entry: ZipEntry,
  file: FileHandle,
  { name }: EntryTarget,
): Promise<string> {
  const packed = await readPacked(archive, entry, name);
  const content = checked(
    entry.method === deflated ? await inflate(packed, entry, name) : packed,
    entry,
    name,
  );
  await file.writeFile(content);
  return createHash('sha256').update(content).digest('hex');
}

function checked(content: Buffer, entry: ZipEntry, name: string): Buffer {
  if (content.length !== entry.bytes) throw lied(name);
  if (crc32(content) !== entry.crc32) throw broken(name);
  return content;
}

/** Header and content mostly come with one read. */
async function readPacked(
  { file: archive, window }: OpenArchive,
  entry: ZipEntry,
  name: string,
): Promise<Buffer> {
  const likely = headerBytes + entry.rawName.length + entry.extra.length + slackBytes + entry.packedBytes;
  const piece = await window.read(entry.offset, likely);
  if (piece.length < headerBytes) throw invalidArchive('it is cut off');
  const dataAt = dataOffset(piece, entry, name);
  const end = dataAt + entry.packedBytes;
  if (end <= piece.length) return piece.subarray(dataAt, end);
  return readAt(archive, entry.offset + dataAt, entry.packedBytes);
}

/** Of the content, from the start of the local header, which must tell of the same entry as the directory. */
function dataOffset(header: Buffer, entry: ZipEntry, name: string): number {
  if (header.readUInt32LE(0) !== headerSignature) throw broken(name);
  const nameBytes = header.readUInt16LE(26);
  const rawName = header.subarray(headerBytes, headerBytes + nameBytes);
  if (!rawName.equals(entry.rawName) || header.readUInt16LE(8) !== entry.method) {
    throw invalidArchive('an entry says other things of itself than the list does', name);
  }
  return headerBytes + nameBytes + header.readUInt16LE(28);
}

/** Throws what an archive is refused with. */
async function inflate(packed: Buffer, entry: ZipEntry, name: string): Promise<Buffer> {
  try {
    return await promisify<Buffer, ZlibOptions, Buffer>(inflateRaw)(packed, announced(entry));
  } catch (error) {
    throw refusalOf(error, name);
  }
}

function inflateAtOnce(packed: Buffer, entry: ZipEntry, name: string): Buffer {
  try {
    return inflateRawSync(packed, announced(entry));
  } catch (error) {
    throw refusalOf(error, name);
  }
}

function announced({ bytes }: ZipEntry): ZlibOptions {
  return {
    // One byte more than announced is one too many, and the rest is never unpacked.
    maxOutputLength: Math.max(1, bytes),
    // In one piece, as its size is known.
    chunkSize: Math.max(64, bytes + 1),
  };
}

function refusalOf(error: unknown, name: string) {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ERR_BUFFER_TOO_LARGE' ? lied(name) : broken(name);
}

async function unpackFlowing(
  { file: archive }: OpenArchive,
  entry: ZipEntry,
  file: FileHandle,
  { name, stop }: EntryTarget,
): Promise<string> {
  const header = await readAt(archive, entry.offset, headerBytes + entry.rawName.length);
  const start = entry.offset + dataOffset(header, entry, name);
  const content = new AnnouncedContent(entry, name);
  const write = async (pieces: AsyncIterable<Buffer>) => {
    for await (const piece of pieces) {
      content.take(piece);
      await file.writeFile(piece);
    }
  };
  const packed = piecesOf(archive, start, entry.packedBytes);
  try {
    if (entry.method === deflated) await pipeline(packed, createInflateRaw(), write, { signal: stop });
    else await pipeline(packed, write, { signal: stop });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    throw typeof code === 'string' && code.startsWith('Z_') ? broken(name) : error;
  }
  return content.sha256();
}

async function* piecesOf(archive: FileHandle, start: number, length: number): AsyncGenerator<Buffer> {
  for (let read = 0; read < length; read += pieceBytes) {
    yield await readAt(archive, start + read, Math.min(pieceBytes, length - read));
  }
}

/** Counts content as it comes, and refuses it past what was announced. */
class AnnouncedContent {
  readonly #entry: ZipEntry;
  readonly #name: string;
  readonly #digest = createHash('sha256');
  #bytes = 0;
  #crc = 0;

  constructor(entry: ZipEntry, name: string) {
    this.#entry = entry;
    this.#name = name;
  }

  take(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#entry.bytes) throw lied(this.#name);
    this.#digest.update(piece);
    this.#crc = crc32(piece, this.#crc);
  }

  /** When all has come. */
  sha256(): string {
    if (this.#bytes !== this.#entry.bytes) throw lied(this.#name);
    if (this.#crc !== this.#entry.crc32) throw broken(this.#name);
    return this.#digest.digest('hex');
  }
}

function lied(name: string) {
  return invalidArchive('an entry is not of the size it says', name);
}

function broken(name: string) {
  return invalidArchive('an entry is broken', name);
}
