import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { SecboxError } from '@secbox/contracts';
import { parseSkillPath } from '@secbox/skill-archive';
import type { ByteSource, SearchedFile } from '@secbox/workspace';
import { type FileEntry, isFolder, sortedFiles, type Tree } from '../tree/tree.js';

/** A tree with where its files lie: a user's view, a version, or the global pack. */
export interface ReadableSkill {
  readonly tree: Tree;
  locate(path: string): string;
}

export interface OpenFile {
  readonly handle: FileHandle;
  readonly entry: FileEntry;
}

/** A caller's path, as trees have it. */
export function pathOf(text: string, field = 'path'): string {
  return parseSkillPath(text, field).join('/');
}

export function entryAt({ tree }: ReadableSkill, path: string): FileEntry {
  const entry = tree.files.get(path);
  if (entry) return entry;
  if (isFolder(tree, path))
    throw new SecboxError('invalid_path', 'path: that is a folder.', { details: { path } });
  throw new SecboxError('file_not_found', `There is no file ${path}.`, { details: { path } });
}

/** Whoever gets it closes it. What it is stays so, whatever happens to the skill meanwhile. */
export async function openAt(skill: ReadableSkill, path: string): Promise<OpenFile> {
  const entry = entryAt(skill, path);
  const handle = await open(
    skill.locate(path),
    constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  );
  return { handle, entry };
}

export async function contentAt(skill: ReadableSkill, path: string, mostBytes: number): Promise<Buffer> {
  const { bytes } = entryAt(skill, path);
  if (bytes > mostBytes) {
    throw new SecboxError(
      'file_too_large',
      `The file has ${bytes} bytes; at most ${mostBytes} are read in one piece.`,
      {
        details: { bytes, most: mostBytes },
      },
    );
  }
  const { handle } = await openAt(skill, path);
  try {
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

/** As what is read by lines. */
export function bytesOf(handle: FileHandle): ByteSource {
  return {
    read: async (buffer, position) => (await handle.read(buffer, 0, buffer.length, position)).bytesRead,
  };
}

/** In the order of their paths. */
export function* searchedFiles(skill: ReadableSkill): Generator<SearchedFile> {
  for (const [path, { bytes }] of sortedFiles(skill.tree)) {
    yield { path, bytes, read: () => contentAt(skill, path, bytes) };
  }
}

export interface FileListing {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly executable: boolean;
}

export function listingOf(tree: Tree): FileListing[] {
  return sortedFiles(tree).map(([path, { bytes, sha256, executable }]) => ({
    path,
    bytes,
    sha256,
    executable,
  }));
}
