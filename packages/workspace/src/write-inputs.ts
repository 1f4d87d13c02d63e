import { createHash } from 'node:crypto';
import { SecboxError } from '@secbox/contracts';
import { type Directory, isErrno } from './directory.js';
import type { RelativePath } from './relative-path.js';

export interface InputFile {
  readonly path: RelativePath;
  readonly content: Buffer;
}

export interface WrittenInput {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
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
    const staged = `input-${index}`;
    await stage(staging, staged, file.content);
    await moveInto(inputs, staging, staged, file.path);
    written.push({
      path: file.path.join('/'),
      size: file.content.length,
      sha256: createHash('sha256').update(file.content).digest('hex'),
    });
  }
  return written;
}

async function stage(staging: Directory, name: string, content: Buffer): Promise<void> {
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
    await moveBelow(inputs, staging, staged, path);
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

/** Lets go of each folder once it is in the next: a path may be deeper than there are descriptors. */
async function moveBelow(
  inputs: Directory,
  staging: Directory,
  staged: string,
  path: RelativePath,
): Promise<void> {
  let folder = inputs;
  try {
    for (const component of path.slice(0, -1)) {
      const parent = folder;
      folder = await parent.ensureDirectory(component, 0o755);
      if (parent !== inputs) await parent.close();
    }
    await staging.rename(staged, folder, path.at(-1) ?? '');
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
