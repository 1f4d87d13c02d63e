import { createHash } from 'node:crypto';
import { SecboxError } from '@secbox/contracts';
import { type Directory, isErrno } from './directory.js';
import type { RelativePath } from './relative-path.js';

export interface InputFile {
  readonly path: RelativePath;
  readonly content: Buffer;
  /** Its content is told to nobody: of it not even a hash is recorded, as that of a short secret can be guessed. */
  readonly secret: boolean;
}

export type WrittenInput =
  | { readonly path: string; readonly size: number; readonly sha256: string }
  | { readonly path: string; readonly secret: true };

/** Whether writing these would change a file that is there; adding one changes nothing. */
export async function wouldChangeInputs(inputs: Directory, files: readonly InputFile[]): Promise<boolean> {
  for (const file of files) if ((await compare(inputs, file)) === 'other') return true;
  return false;
}

/**
 * Writes each file beside the inputs first and then renames it into its place: a reader sees the old
 * file or the new one, never a part. `staging` must be on the same file system and is left empty.
 */
export async function writeInputs(
  inputs: Directory,
  staging: Directory,
  files: readonly InputFile[],
): Promise<WrittenInput[]> {
  const written: WrittenInput[] = [];
  for (const [index, file] of files.entries()) {
    if ((await compare(inputs, file)) !== 'same') {
      const staged = `input-${index}`;
      await stage(staging, staged, file);
      await moveInto(inputs, staging, staged, file.path);
    }
    written.push(recordOf(file));
  }
  return written;
}

function recordOf({ path, content, secret }: InputFile): WrittenInput {
  if (secret) return { path: path.join('/'), secret };
  return {
    path: path.join('/'),
    size: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
  };
}

/** What is in a file's place: the very same, something else, or nothing. */
async function compare(
  inputs: Directory,
  { path, content }: InputFile,
): Promise<'same' | 'other' | 'nothing'> {
  const open = (parent: Directory, name: string) => parent.openDirectory(name);
  try {
    return await inParentOf(path, inputs, open, async (folder, name) => {
      const file = await folder.openFile(name);
      try {
        const stats = await file.stat();
        if (!stats.isFile() || stats.size !== content.length) return 'other';
        return (await file.readFile()).equals(content) ? 'same' : 'other';
      } finally {
        await file.close();
      }
    });
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return 'nothing';
    // Something of another kind is in the way: writing will say what.
    if (isErrno(error, 'ENOTDIR', 'ELOOP')) return 'other';
    throw error;
  }
}

async function stage(staging: Directory, name: string, { content }: InputFile): Promise<void> {
  const file = await staging.createFile(name, 0o644);
  try {
    await file.writeFile(content);
  } finally {
    await file.close();
  }
}

async function moveInto(
  inputs: Directory,
  staging: Directory,
  staged: string,
  path: RelativePath,
): Promise<void> {
  try {
    const make = (parent: Directory, name: string) => parent.ensureDirectory(name, 0o755);
    await inParentOf(path, inputs, make, (folder, name) => staging.rename(staged, folder, name));
  } catch (error) {
    await staging.remove(staged);
    if (isErrno(error, 'ENOTDIR', 'EISDIR', 'ELOOP', 'ENOTEMPTY', 'EEXIST')) {
      throw new SecboxError(
        'invalid_path',
        `inputs: "${path.join('/')}" is in the way of, or blocked by, an input of another kind (file or folder).`,
        { details: { path: path.join('/') } },
      );
    }
    throw error;
  }
}

/**
 * Walks to the folder of a file, and lets go of each one once it is in the next: a path may be deeper
 * than there are descriptors.
 */
async function inParentOf<T>(
  path: RelativePath,
  inputs: Directory,
  step: (parent: Directory, name: string) => Promise<Directory>,
  use: (folder: Directory, name: string) => Promise<T>,
): Promise<T> {
  let folder = inputs;
  try {
    for (const component of path.slice(0, -1)) {
      const parent = folder;
      folder = await step(parent, component);
      if (parent !== inputs) await parent.close();
    }
    return await use(folder, path.at(-1) ?? '');
  } finally {
    if (folder !== inputs) await folder.close();
  }
}

/** The same path twice, or one that needs a folder where another puts a file, has no single outcome. */
export function refuseOverlaps(files: readonly Pick<InputFile, 'path'>[]): void {
  // No component holds a NUL, and nothing sorts before it: what lies below a path follows it at once.
  const sorted = files.map(({ path }) => path.join('\0')).sort();
  for (const [index, path] of sorted.entries()) {
    const next = sorted[index + 1];
    if (next === path || next?.startsWith(`${path}\0`)) {
      const whole = next.replaceAll('\0', '/');
      throw new SecboxError('invalid_path', `inputs: "${whole}" overlaps another input of this request.`, {
        details: { path: whole },
      });
    }
  }
}
