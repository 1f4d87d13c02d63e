import { SecboxError } from '@secbox/contracts';
import type { BigIntStats } from 'node:fs';
import { type ContentHashes } from './content-hashes.js';
import type { ContentStore } from './content-store.js';
import { Directory, isErrno, within } from './directory.js';
import { entryKind, entryPath, type EntryKind, type EntryPath } from './entry.js';
import { inParentOf } from './folder-walk.js';
import type { RelativePath } from './relative-path.js';

/** A file that a request brings along, received whole. */
export interface InputFile {
  readonly path: RelativePath;
  readonly size: number;
  readonly sha256: string;
  /** Its content is told to nobody: of it not even a hash is recorded, as that of a short secret can be guessed. */
  readonly secret: boolean;
  /** Where it was received to when it was too large to hold: a file of the staging folder. */
  readonly content: Buffer | { readonly staged: string };
}

/** What an exec can see below its inputs. */
export type VisibleInput =
  | (EntryPath & { readonly size: number; readonly sha256: string })
  | (EntryPath & { readonly secret: true })
  | (EntryPath & { readonly kind: Exclude<EntryKind, 'file' | 'directory'> });

export interface ProjectInputsOptions {
  readonly folder: string;
  readonly contents: ContentStore;
  readonly hashes: ContentHashes;
}

const plainMode = 0o644;
/** Marks a secret for those who come later, in the one place that cannot get lost apart from it. */
const secretMode = 0o444;
/** Every exec has to account for them all. */
export const mostInputs = 10_000;

/** The input files of one project: they outlive the execs that brought them, and each is replaced as a whole. */
export class ProjectInputs {
  readonly #folder: string;
  readonly #contents: ContentStore;
  readonly #hashes: ContentHashes;

  constructor({ folder, contents, hashes }: ProjectInputsOptions) {
    this.#folder = folder;
    this.#contents = contents;
    this.#hashes = hashes;
  }

  /** Whether writing these would change a content that is there; adding one changes nothing. */
  async wouldChange(files: readonly InputFile[]): Promise<boolean> {
    if (files.length === 0) return false;
    return this.#open(async (inputs) => {
      for (const file of files) {
        const found = await this.#find(inputs, file.path);
        if (found === 'nothing') continue;
        if (found === 'blocked' || found.sha256 !== file.sha256 || found.secret !== file.secret) return true;
      }
      return false;
    });
  }

  /**
   * Makes each file ready in `staging` first and then renames it into its place: a reader sees the old
   * file or the new one, never a part. What is not secret is kept as a content too. Can be done again
   * after it was cut off at any point.
   */
  async write(files: readonly InputFile[], staging: Directory): Promise<void> {
    if (files.length === 0) return;
    const write = async (inputs: Directory) => {
      await this.#assertWritable(inputs, files);
      for (const [index, file] of files.entries()) {
        const found = await this.#find(inputs, file.path);
        const same =
          typeof found !== 'string' && found.sha256 === file.sha256 && found.secret === file.secret;
        if (same) continue;
        const ready = `ready-${index}`;
        await staging.remove(ready);
        await this.#prepare(staging, ready, file);
        await moveInto(inputs, staging, ready, file.path);
      }
    };
    await this.#contents.using(() => this.#open(write));
  }

  /** Before the first of them is written: a request that is refused changes nothing. */
  async #assertWritable(inputs: Directory, files: readonly InputFile[]): Promise<void> {
    let added = 0;
    for (const { path } of files) {
      const found = await this.#find(inputs, path);
      if (found === 'blocked') throw blocked(path);
      if (found === 'nothing') added += path.length;
    }
    if (added > 0) await this.#assertFew(inputs, mostInputs - added);
  }

  async #assertFew(inputs: Directory, most: number): Promise<void> {
    let entries = 0;
    const count = async (folder: Directory): Promise<void> => {
      for await (const { name, stats } of folder.entries()) {
        entries += 1;
        if (entries > most) throw tooMany(mostInputs);
        if (stats.isDirectory()) await within(folder.openDirectory(name), count);
      }
    };
    if (most < 0) throw tooMany(mostInputs);
    await count(inputs);
  }

  /** All there is to see, in the order of the paths; throws `too_many_inputs` past `most` files and folders. */
  async list(most = Infinity): Promise<VisibleInput[]> {
    const found: { readonly bytes: Buffer; readonly input: VisibleInput }[] = [];
    let entries = 0;
    const visit = async (folder: Directory, prefix: Buffer): Promise<void> => {
      for await (const { name, stats } of folder.entries()) {
        entries += 1;
        if (entries > most) throw tooMany(most);
        const bytes = Buffer.concat([prefix, name]);
        if (stats.isDirectory()) {
          await within(folder.openDirectory(name), (inner) =>
            visit(inner, Buffer.concat([bytes, Buffer.from('/')])),
          );
        } else {
          found.push({ bytes, input: { ...entryPath(bytes), ...(await this.#tell(folder, name, stats)) } });
        }
      }
    };
    await this.#open((inputs) => visit(inputs, Buffer.alloc(0)));
    return found.sort((a, b) => a.bytes.compare(b.bytes)).map(({ input }) => input);
  }

  async #tell(folder: Directory, name: Buffer, stats: BigIntStats) {
    const kind = entryKind(stats);
    if (kind !== 'file' && kind !== 'directory') return { kind };
    if (isSecretInput(stats)) return { secret: true } as const;
    const sha256 = this.#hashes.find(stats) ?? (await this.#hash(folder, name));
    return { size: Number(stats.size), sha256 };
  }

  async #hash(folder: Directory, name: Buffer | string): Promise<string> {
    const file = folder.openFile(name);
    try {
      return await this.#hashes.of(file);
    } finally {
      file.close();
    }
  }

  /** What is in a file's place. */
  async #find(
    inputs: Directory,
    path: RelativePath,
  ): Promise<'nothing' | 'blocked' | { readonly sha256?: string; readonly secret?: boolean }> {
    try {
      return await inParentOf(path, inputs, async (folder, name) => {
        const stats = folder.stat(name);
        if (stats.isDirectory()) return 'blocked';
        if (!stats.isFile()) return {};
        return { sha256: await this.#hash(folder, name), secret: isSecretInput(stats) };
      });
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return 'nothing';
      if (isErrno(error, 'ENOTDIR', 'ELOOP')) return 'blocked';
      throw error;
    }
  }

  async #prepare(staging: Directory, name: string, file: InputFile): Promise<void> {
    const { content, secret, sha256, size } = file;
    if (secret) {
      if (!Buffer.isBuffer(content)) throw new Error('a secret input is never staged in the clear');
      await staging.writeFile(name, secretMode, content);
      return;
    }
    // Also when it was staged: an earlier try may have handed it over already.
    if (!this.#contents.has(sha256, size)) {
      const staged = Buffer.isBuffer(content) ? name : content.staged;
      if (Buffer.isBuffer(content)) await staging.writeFile(name, plainMode, content);
      if (staging.stat(staged).size !== size) throw new Error(`${staged} is not what was received`);
      this.#contents.adopt(staging, staged, sha256);
    }
    await this.#contents.place(sha256, staging, name);
    this.#hashes.remember(staging.bigStat(name), sha256);
  }

  #open<T>(use: (inputs: Directory) => Promise<T>): Promise<T> {
    return within(Directory.open(this.#folder), use);
  }
}

/** Whether a file of the inputs is one that is told to nobody. */
export function isSecretInput({ mode }: { readonly mode: number | bigint }): boolean {
  return (Number(mode) & 0o777) === secretMode;
}

async function moveInto(
  inputs: Directory,
  staging: Directory,
  ready: string,
  path: RelativePath,
): Promise<void> {
  try {
    const make = (parent: Directory, name: string) => parent.ensureDirectory(name, 0o755);
    await inParentOf(path, inputs, (folder, name) => staging.rename(ready, folder, name), make);
    // Renaming a file onto another link to the same content does nothing: the staged name stays.
    await staging.remove(ready);
  } catch (error) {
    await staging.remove(ready);
    if (isErrno(error, 'ENOTDIR', 'EISDIR', 'ELOOP', 'ENOTEMPTY', 'EEXIST')) throw blocked(path);
    throw error;
  }
}

function blocked(path: RelativePath): SecboxError {
  return new SecboxError(
    'invalid_path',
    `inputs: "${path.join('/')}" is in the way of, or blocked by, an input of another kind (file or folder).`,
    { details: { path: path.join('/') } },
  );
}

function tooMany(most: number): SecboxError {
  return new SecboxError(
    'too_many_inputs',
    `The project has more than ${most} input files and folders; every exec would have to account for them all.`,
    { details: { max_entries: most } },
  );
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
