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
  const opened: Directory[] = [];
  try {
    let folder = inputs;
    for (const component of path.slice(0, -1)) {
      folder = await folder.ensureDirectory(component, 0o755);
      opened.push(folder);
    }
    await staging.rename(staged, folder, path.at(-1) ?? '');
  } catch (error) {
    if (isErrno(error, 'ENOTDIR', 'EISDIR', 'ELOOP', 'ENOTEMPTY', 'EEXIST')) {
      throw new SecboxError(
        'invalid_path',
        `inputs: "${path.join('/')}" is in the way of, or blocked by, an input of another kind (file or folder).`,
        { details: { path: path.join('/') } },
      );
    }
    throw error;
  } finally {
    for (const directory of opened.reverse()) await directory.close();
  }
}

/** The same path twice, or one that needs a folder where another puts a file, has no single outcome. */
export function refuseOverlaps(files: readonly Pick<InputFile, 'path'>[]): void {
  const seen = new Set<string>();
  const folders = new Set<string>();
  for (const { path } of files) {
    const whole = path.join('/');
    const parents = path.slice(0, -1).map((_, index) => path.slice(0, index + 1).join('/'));
    if (seen.has(whole) || folders.has(whole) || parents.some((parent) => seen.has(parent))) {
      throw new SecboxError('invalid_path', `inputs: "${whole}" overlaps another input of this request.`, {
        details: { path: whole },
      });
    }
    seen.add(whole);
    for (const parent of parents) folders.add(parent);
  }
}
