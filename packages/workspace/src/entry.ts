import type { BigIntStats, Dirent, Stats } from 'node:fs';

/** `path_base64` holds the raw bytes where the name is not UTF-8 and `path` is only an approximation. */
export interface EntryPath {
  readonly path: string;
  readonly path_base64?: string;
}

export type EntryKind =
  'file' | 'directory' | 'symlink' | 'fifo' | 'socket' | 'block_device' | 'character_device';

/** `ignoreBOM` keeps a leading U+FEFF: without it two names would be listed as one. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function entryPath(bytes: Buffer): EntryPath {
  try {
    return { path: utf8.decode(bytes) };
  } catch {
    return { path: bytes.toString('utf8'), path_base64: bytes.toString('base64') };
  }
}

export function entryKind(stats: Stats | BigIntStats): EntryKind {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  if (stats.isSymbolicLink()) return 'symlink';
  if (stats.isFIFO()) return 'fifo';
  if (stats.isSocket()) return 'socket';
  return stats.isBlockDevice() ? 'block_device' : 'character_device';
}

/** What a folder says that an entry is. */
export type ListedKind = 'file' | 'directory' | 'other' | 'unknown';

export function listedKind(entry: Dirent): ListedKind {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  const isOther =
    entry.isSymbolicLink() ||
    entry.isFIFO() ||
    entry.isSocket() ||
    entry.isBlockDevice() ||
    entry.isCharacterDevice();
  return isOther ? 'other' : 'unknown';
}
