import { mkdir, open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { LayeredSkillId } from '@secbox/contracts';
import { Breath } from '@secbox/workspace';
import pLimit from 'p-limit';
import {
  type ArchiveLimits,
  defaultArchiveLimits,
  invalidArchive,
  ratioFloorBytes,
  tooLarge,
} from './archive-limits.js';
import { ArchiveWindow } from './archive-window.js';
import { decodeNames } from './entry-names.js';
import { placeEntries, type PlacedEntry } from './entry-paths.js';
import { metadataBytes, metadataFiles, metadataOf, type SkillMetadata } from './skill-metadata.js';
import { type SkillEntries, skillsOf } from './skills-of-archive.js';
import { unpackEntry, type OpenArchive, type UnpackedFile } from './unpack-entry.js';
import { readZipDirectory, type ZipEntry } from './zip-directory.js';

export interface UnpackOptions {
  /** What the uploader called the file; names a skill that has no folder of its own. */
  readonly archiveName: string;
  readonly limits?: ArchiveLimits;
  readonly stop?: AbortSignal;
}

/** A skill as it lies in staging: regular files of modes 0644 and 0755, and nothing else. */
export interface UnpackedSkill {
  readonly skillId: LayeredSkillId;
  readonly folder: string;
  readonly metadata: SkillMetadata;
  readonly files: readonly UnpackedFile[];
  /** All of them, parents before what is in them. */
  readonly folders: readonly string[];
}

const atOnce = 8;

/**
 * Unpacks the skills of a ZIP below `staging`, a folder that is not there yet. When it fails, for whatever reason,
 * nothing of it is left.
 */
export async function unpackSkills(
  archivePath: string,
  staging: string,
  { archiveName, limits = defaultArchiveLimits, stop }: UnpackOptions,
): Promise<UnpackedSkill[]> {
  const archive = await open(archivePath, 'r');
  try {
    const entries = await readZipDirectory(archive, limits);
    refuseBombs(entries, (await archive.stat()).size, limits);
    const skills = skillsOf(placeEntries(entries, decodeNames(entries), limits), archiveName);
    await mkdir(staging, { mode: 0o700 });
    try {
      const opened = { file: archive, window: new ArchiveWindow(archive), breath: new Breath() };
      return await unpackAll(opened, skills, staging, stop);
    } catch (error) {
      await rm(staging, { recursive: true, force: true });
      throw error;
    }
  } finally {
    await archive.close();
  }
}

/**
 * By what the list announces: nothing larger comes out of an entry later. Entries that share their bytes would make
 * much out of little, so that each has its own.
 */
function refuseBombs(entries: readonly ZipEntry[], archiveBytes: number, limits: ArchiveLimits): void {
  const total = entries.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total > limits.bytes) throw tooLarge('it unpacks to too many bytes', 'bytes', limits.bytes);
  if (total > ratioFloorBytes && total > archiveBytes * limits.ratio) {
    throw tooLarge('it unpacks to too many times its size', 'ratio', limits.ratio);
  }
  if (entries.some(({ bytes }) => bytes > limits.fileBytes)) {
    throw tooLarge('a file in it has too many bytes', 'fileBytes', limits.fileBytes);
  }
  let end = 0;
  for (const entry of [...entries].sort((a, b) => a.offset - b.offset)) {
    if (entry.offset < end) throw invalidArchive('entries in it overlap');
    end = entry.offset + entry.rawName.length + entry.packedBytes;
    if (end > archiveBytes) throw invalidArchive('it is cut off');
  }
}

async function unpackAll(
  archive: OpenArchive,
  skills: readonly SkillEntries[],
  staging: string,
  stop: AbortSignal | undefined,
): Promise<UnpackedSkill[]> {
  const unpacked: UnpackedSkill[] = [];
  for (const [n, { skillId, entries }] of skills.entries()) {
    const folder = join(staging, String(n));
    const folders = foldersOf(entries);
    await mkdir(folder, { mode: 0o755 });
    for (const path of folders) await mkdir(join(folder, path), { mode: 0o755 });
    const files = await unpackFiles(archive, entries, folder, stop);
    const metadata = metadataOf(await readBeginnings(folder, files), skillId);
    unpacked.push({ skillId, folder, metadata, files, folders });
  }
  return unpacked;
}

/** The first that fails stops those that have not begun, and all that have are waited for: staging is removed next. */
async function unpackFiles(
  archive: OpenArchive,
  entries: readonly PlacedEntry[],
  folder: string,
  stop: AbortSignal | undefined,
): Promise<UnpackedFile[]> {
  const limit = pLimit(atOnce);
  const keepsModes = ((await stat(folder)).mode & 0o777) === 0o755;
  const failed = new AbortController();
  const signal = stop ? AbortSignal.any([stop, failed.signal]) : failed.signal;
  const results = await Promise.allSettled(
    entries.flatMap((place) => {
      if (place.kind === 'folder') return [];
      const path = place.path.join('/');
      return [
        limit(async () => {
          try {
            const target = { file: join(folder, path), name: path, stop: signal, keepsModes };
            return { path, ...(await unpackEntry(archive, place.entry, target)) };
          } catch (error) {
            failed.abort(error);
            throw error;
          }
        }),
      ];
    }),
  );
  if (failed.signal.aborted) throw failed.signal.reason;
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
}

function foldersOf(entries: readonly PlacedEntry[]): string[] {
  const folders = new Set<string>();
  for (const { kind, path } of entries) {
    const depths = kind === 'folder' ? path.length : path.length - 1;
    for (let depth = 1; depth <= depths; depth += 1) folders.add(path.slice(0, depth).join('/'));
  }
  return [...folders].sort();
}

async function readBeginnings(folder: string, files: readonly UnpackedFile[]): Promise<Map<string, string>> {
  const there = new Set(files.map(({ path }) => path));
  const texts = new Map<string, string>();
  for (const name of metadataFiles) {
    if (there.has(name)) texts.set(name, await readBeginning(join(folder, name)));
  }
  return texts;
}

async function readBeginning(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(metadataBytes), 0, metadataBytes, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
