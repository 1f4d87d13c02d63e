import { join } from 'node:path';
import { ContentHashes, Directory, isErrno, within } from '@secbox/workspace';
import { type FileEntry, type Tree, treeOf } from '../tree/tree.js';
import { pathOf, type ReadableSkill } from './readable-skill.js';

/**
 * A folder of tools that is the same for everybody and stands before any skill of its name. An operator puts it there;
 * here it is only read. Links and other things in it are as if they were not there.
 */
export class GlobalPack {
  readonly #folder: string;
  readonly #hashes = new ContentHashes(10_000);

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Undefined when none is installed. */
  async read(): Promise<ReadableSkill | undefined> {
    const tree = await this.#scan();
    return tree && { tree, locate: (path) => join(this.#folder, path) };
  }

  get folder(): string {
    return this.#folder;
  }

  async #scan(): Promise<Tree | undefined> {
    const files = new Map<string, FileEntry>();
    const folders: string[] = [];
    const visit = async (directory: Directory, name: Buffer, path: string): Promise<void> => {
      const stats = directory.bigStat(name);
      if (stats.isDirectory()) {
        await within(directory.openDirectory(name), (folder) => walk(folder, `${path}/`));
        folders.push(path);
      } else if (stats.isFile()) {
        const sha256 = this.#hashes.find(stats) ?? (await this.#hash(directory, name));
        const executable = (Number(stats.mode) & 0o100) !== 0;
        files.set(path, { sha256, bytes: Number(stats.size), executable });
      }
    };
    const walk = async (directory: Directory, above: string): Promise<void> => {
      const names: Buffer[] = [];
      for await (const name of directory.names()) names.push(name);
      for (const name of names) {
        const path = above + name.toString('utf8');
        if (isNameable(path)) await visit(directory, name, path).catch(passOverIfGone);
      }
    };
    try {
      await within(Directory.open(this.#folder), (root) => walk(root, ''));
    } catch (error) {
      // Of the pack's own folder only.
      if (isErrno(error, 'ENOENT')) return undefined;
      throw error;
    }
    return treeOf(files, folders);
  }

  async #hash(directory: Directory, name: Buffer): Promise<string> {
    const file = directory.openFile(name);
    try {
      return await this.#hashes.of(file);
    } finally {
      file.close();
    }
  }
}

/** An operator may be changing the pack: what is gone by now says nothing of the rest. */
function passOverIfGone(error: unknown): void {
  if (!isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) throw error;
}

function isNameable(path: string): boolean {
  try {
    pathOf(path);
    return true;
  } catch {
    return false;
  }
}
