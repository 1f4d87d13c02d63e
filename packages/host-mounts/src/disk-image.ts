import { closeSync, openSync, readSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { ProgramError, runSystemProgram } from './system-program.js';

/** One inode per so many bytes: enough for trees of small files, at 3 % of the space. */
const bytesPerInode = 8192;
/** The least that ext4 takes. With it a power cut costs no check and no file that was there before. */
const journalMb = 4;

/**
 * Makes an image that takes space only as it is filled, and appears at its path when it is whole. Its root belongs to
 * `owner`, and nothing of it is kept for root.
 */
export async function makeImage(path: string, bytes: number, owner: Owner): Promise<void> {
  const unfinished = `${path}.unfinished`;
  await rm(unfinished, { force: true });
  await setLength(unfinished, bytes);
  await runSystemProgram('mkfs.ext4', [
    ...['-q', '-F', '-b', '4096', '-m', '0', '-i', String(bytesPerInode), '-J', `size=${journalMb}`],
    // Holes read as zeros already, so nothing is left to be zeroed in the background.
    ...['-E', `root_owner=${owner.uid}:${owner.gid},lazy_journal_init=1`],
    unfinished,
  ]);
  await rename(unfinished, path);
}

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** The size of an image that surely holds so many bytes in so many entries. */
export function sizeFor(bytes: number, entries: number): number {
  const withTables = Math.max(bytes * 1.1, entries * bytesPerInode * 1.1);
  return Math.ceil((withTables + 64 * mebibyte) / mebibyte) * mebibyte;
}

const mebibyte = 1024 ** 2;

/**
 * Makes an image that is not mounted fit to be: mends it where the kernel marked it as faulty, as it does when the
 * host's own disk was full, and grows it to so many bytes; a larger one stays as it is.
 */
export async function fitImage(path: string, bytes: number): Promise<void> {
  const found = readSuperblock(path);
  const grows = found.bytes < bytes;
  if (found.faulty || grows) await checkImage(path);
  if (!grows) return;
  await setLength(path, bytes);
  await runSystemProgram('resize2fs', [path]);
}

/** The few fields of ext4's superblock that tell more than the length of the file. */
function readSuperblock(path: string): { readonly bytes: number; readonly faulty: boolean } {
  const image = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(1024);
    readSync(image, buffer, 0, 1024, 1024);
    const blocks = buffer.readUInt32LE(0x4) + buffer.readUInt32LE(0x150) * 2 ** 32;
    const blockBytes = 1024 << buffer.readUInt32LE(0x18);
    return { bytes: blocks * blockBytes, faulty: (buffer.readUInt16LE(0x3a) & 2) !== 0 };
  } finally {
    closeSync(image);
  }
}

/** Exit codes of e2fsck up to this say that all is well, or well again. */
const mended = 1;

async function checkImage(path: string): Promise<void> {
  try {
    await runSystemProgram('e2fsck', ['-f', '-y', path]);
  } catch (error) {
    if (!(error instanceof ProgramError) || error.exitCode === null || error.exitCode > mended) throw error;
  }
}

async function setLength(path: string, bytes: number): Promise<void> {
  const image = await open(path, 'a', 0o600);
  try {
    await image.truncate(bytes);
  } finally {
    await image.close();
  }
}
