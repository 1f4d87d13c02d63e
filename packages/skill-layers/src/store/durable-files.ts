import { randomUUID } from 'node:crypto';
import { constants, linkSync } from 'node:fs';
import {
  chown,
  copyFile,
  type FileHandle,
  lchown,
  mkdir,
  open,
  readFile,
  rename,
  rm,
  rmdir,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { runSystemProgram } from '@secbox/host-mounts';
import { Breath, Directory, isErrno, type Owner, within } from '@secbox/workspace';
import pLimit from 'p-limit';

/** A file that is to appear in a tree we write. */
export interface PlacedFile {
  /** Where it is to be, below the folder. */
  readonly path: string;
  readonly from: string;
  readonly executable: boolean;
  /** Shared with whoever has it, or copied as it needs another mode. */
  readonly by: 'link' | 'copy';
}

const atOnce = 16;
/** From here on it is quicker to let the whole file system reach the disk than each file. */
const manyFiles = 200;

/**
 * Writes below folders that nobody else writes. Each change is made aside and takes its place by one rename; what it
 * needs has reached the disk before. `onStep` is told before each step that a crash could come between.
 */
export class DurableFiles {
  readonly #owner: Owner | undefined;
  readonly #onStep: (step: string) => Promise<void>;

  constructor(owner?: Owner, onStep: (step: string) => Promise<void> = () => Promise.resolve()) {
    this.#owner = owner;
    this.#onStep = onStep;
  }

  /** The folder must be there. What `first` makes last has reached the disk before the document is in its place. */
  async writeDocument(
    path: string,
    document: unknown,
    first: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<void> {
    const aside = `${path}.${randomUUID()}.tmp`;
    await this.#onStep('document');
    const file = await open(aside, 'wx', 0o600);
    try {
      await file.writeFile(JSON.stringify(document));
      // Together, as the disk makes one journey of them.
      await Promise.all([file.sync(), first()]);
    } finally {
      await file.close();
    }
    await this.#onStep('document in place');
    await rename(aside, path);
    await syncPath(dirname(path));
    await this.#onStep('document done');
  }

  /** Undefined when there is none. */
  async readDocument(path: string): Promise<unknown> {
    try {
      return JSON.parse(await readFile(path, 'utf8')) as unknown;
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return undefined;
      throw error;
    }
  }

  /** A file of ours, not yet anywhere; {@link sync} makes it last. */
  async writeContent(path: string, content: Buffer, executable: boolean): Promise<void> {
    await this.#onStep('content');
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile(content);
      await this.#give(file, executable);
    } finally {
      await file.close();
    }
  }

  /** Gives a file that is already written its mode and owner, and makes it last. */
  async finishContent(path: string, executable: boolean): Promise<void> {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      await this.#give(file, executable);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** Makes files and folders last. */
  async sync(paths: readonly string[]): Promise<void> {
    const limit = pLimit(atOnce);
    await Promise.all(paths.map((path) => limit(() => syncPath(path))));
  }

  /** Makes a folder with all that is in it, and that lasts; what a crash left of that name goes first. */
  async makeTree(folder: string, files: readonly PlacedFile[], folders: readonly string[]): Promise<void> {
    await this.sync(await this.placeTree(folder, files, folders));
  }

  /** As {@link makeTree}, but for the last step; gives what is to be synced. */
  async placeTree(
    folder: string,
    files: readonly PlacedFile[],
    folders: readonly string[],
  ): Promise<string[]> {
    await this.#onStep('tree');
    await this.#makeFolders(folder, files, folders);
    await this.#onStep('tree with folders');
    const breath = new Breath();
    const copied: PlacedFile[] = [];
    for (const file of files) {
      if (!isLinked(folder, file)) copied.push(file);
      await breath.take();
    }
    const limit = pLimit(atOnce);
    await Promise.all(copied.map((file) => limit(() => this.#copy(folder, file))));
    await this.#onStep('tree with files');
    return ['', ...neededFolders(files, folders)].map((path) => join(folder, path));
  }

  /** Gives the owner what an upload brought, and makes it last. */
  async adoptTree(folder: string, files: readonly string[], folders: readonly string[]): Promise<void> {
    await this.#onStep('adopted');
    const limit = pLimit(atOnce);
    const paths = ['', ...folders, ...files].map((path) => join(folder, path));
    const owner = this.#owner;
    if (paths.length < manyFiles || process.platform !== 'linux') {
      await Promise.all(paths.map((path) => limit(() => this.#adopt(path))));
      return;
    }
    if (owner) await Promise.all(paths.map((path) => limit(() => lchown(path, owner.uid, owner.gid))));
    await runSystemProgram('sync', ['-f', folder]);
  }

  /** One rename; `to` must not be there, or be what a crash left. */
  async moveTree(from: string, to: string): Promise<void> {
    await this.#onStep('move');
    await rm(to, { recursive: true, force: true });
    await this.#onStep('move cleared');
    await rename(from, to);
    await syncPath(dirname(to));
  }

  /** With all that is in it; fine when it is not there. */
  async removeTree(path: string): Promise<void> {
    await this.#onStep('remove');
    try {
      await within(Directory.open(dirname(path)), (folder) => folder.remove(basename(path)));
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) throw error;
    }
  }

  async ensureFolder(path: string): Promise<void> {
    await mkdir(path, { recursive: true, mode: 0o755 });
  }

  /** As {@link ensureFolder}, of one in which programs are to write. */
  async ensureOwnedFolder(path: string): Promise<void> {
    const made = await mkdir(path, { recursive: true, mode: 0o755 });
    if (made !== undefined && this.#owner) await chown(path, this.#owner.uid, this.#owner.gid);
  }

  async #makeFolders(
    folder: string,
    files: readonly PlacedFile[],
    folders: readonly string[],
  ): Promise<void> {
    await makeNew(folder);
    for (const path of neededFolders(files, folders)) await mkdir(join(folder, path), { mode: 0o755 });
    for (const path of ['', ...neededFolders(files, folders)]) {
      if (this.#owner) await chown(join(folder, path), this.#owner.uid, this.#owner.gid);
    }
  }

  async #copy(folder: string, { path, from, executable }: PlacedFile): Promise<void> {
    const to = join(folder, path);
    await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    await this.finishContent(to, executable);
  }

  async #give(file: FileHandle, executable: boolean): Promise<void> {
    await file.chmod(executable ? 0o755 : 0o644);
    if (this.#owner) await file.chown(this.#owner.uid, this.#owner.gid);
  }

  async #adopt(path: string): Promise<void> {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      if (this.#owner) await file.chown(this.#owner.uid, this.#owner.gid);
      await file.sync();
    } finally {
      await file.close();
    }
  }
}

/** Sooner than another thread would have begun. False where it has to be copied. */
function isLinked(folder: string, { path, from, by }: PlacedFile): boolean {
  if (by === 'copy') return false;
  try {
    linkSync(from, join(folder, path));
    return true;
  } catch (error) {
    // File systems without hard links, and the largest number of them a file may have.
    if (isErrno(error, 'EPERM', 'EMLINK', 'ENOTSUP', 'ENOSYS', 'EOPNOTSUPP', 'EXDEV')) return false;
    throw error;
  }
}

/** What a crash left of that name goes first. */
async function makeNew(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o755 });
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { mode: 0o755 });
  }
}

/** Parents first. */
function neededFolders(files: readonly PlacedFile[], folders: readonly string[]): string[] {
  const needed = new Set(folders);
  for (const path of [...folders, ...files.map((file) => file.path)]) {
    for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) needed.add(path.slice(0, at));
  }
  return [...needed].sort();
}

/** Fine when something is in it, which then stays. */
export async function removeEmpty(folder: string): Promise<void> {
  try {
    await rmdir(folder);
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST')) throw error;
  }
}

async function syncPath(path: string): Promise<void> {
  const entry = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    await entry.sync();
  } finally {
    await entry.close();
  }
}
