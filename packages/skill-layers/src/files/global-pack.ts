import { join } from 'node:path';
import { ContentHashes, Directory, isErrno, parseRelativePath, within } from '@secbox/workspace';
import { type FileEntry, type Tree, treeOf } from '../tree/tree.js';
import type { ReadableSkill } from './readable-skill.js';

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
    const walk = async (directory: Directory, above: string): Promise<void> => {
      const entries = [];
      for await (const entry of directory.entries()) entries.push(entry);
      for (const { name, stats } of entries) {
        const path = above + name.toString('utf8');
        if (!isNameable(path)) continue;
        if (stats.isDirectory()) {
          folders.push(path);
          await within(directory.openDirectory(name), (folder) => walk(folder, `${path}/`));
        } else if (stats.isFile()) {
          const sha256 = this.#hashes.find(stats) ?? (await this.#hash(directory, name));
          files.set(path, {
            sha256,
            bytes: Number(stats.size),
            executable: (Number(stats.mode) & 0o100) !== 0,
          });
        }
      }
    };
    try {
      await within(Directory.open(this.#folder), (root) => walk(root, ''));
    } catch (error) {
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

function isNameable(path: string): boolean {
  try {
    parseRelativePath(path, 'path');
    return true;
  } catch {
    return false;
  }
}
