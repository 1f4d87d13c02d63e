import { join } from 'node:path';
import { refuseProtected } from '@secbox/command-guard';
import { SecboxError } from '@secbox/contracts';
import { longestSkillPath, parseSkillPath } from '@secbox/skill-archive';
import { type Directory, hashFile, isErrno } from '@secbox/workspace';
import type { BigIntStats } from 'node:fs';
import type { NewContent } from '../store/generations.js';
import type { DurableFiles } from '../store/durable-files.js';
import { type FileEntry, sameFile, type Tree } from '../tree/tree.js';
import type { SkippedEntry } from './exec-road.js';

export interface FindingLimits {
  /** Entries that are looked at. */
  readonly entries: number;
  /** Of all files together that are not as they were, however often the same is in them: so much is read. */
  readonly bytes: number;
  /** Of all files of a skill that an exec made larger. */
  readonly skillBytes: number;
}

export const defaultFindingLimits: FindingLimits = {
  entries: 50_000,
  bytes: 1024 ** 3,
  skillBytes: 2 * 1024 ** 3,
};

/** How long what an exec left is looked through: until it is aborted. */
export type FindingStop = AbortSignal | undefined;

const mostSkipped = 1_000;
const blockBytes = 512n;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** What is found in a folder that a program wrote, which is hostile: nothing is followed, all is counted. */
export class ExecFindings {
  readonly files = new Map<string, FileEntry>();
  readonly folders = new Set<string>();
  readonly contents = new Map<string, NewContent>();
  readonly skipped: SkippedEntry[] = [];
  readonly #base: Tree;
  /** Where changed files are linked to, flat, on the way to their place. */
  readonly #changed: { readonly path: string; readonly directory: Directory };
  readonly #durable: DurableFiles;
  readonly #stop: FindingStop;
  /** Of files with several names, so that each is read once. */
  readonly #hashes = new Map<string, Awaited<ReturnType<typeof hashFile>>>();
  /** What protected files had before: a program may move the folder that such a file is in. */
  readonly #fixed: ReadonlySet<string>;
  #entriesLeft: number;
  #bytesLeft: bigint;

  constructor(
    base: Tree,
    changed: { readonly path: string; readonly directory: Directory },
    durable: DurableFiles,
    limits: FindingLimits,
    stop: FindingStop,
  ) {
    this.#base = base;
    const fixed = [...base.files].filter(([path]) => isProtected(path));
    this.#fixed = new Set(fixed.map(([, entry]) => identityOf(entry)));
    this.#changed = changed;
    this.#durable = durable;
    this.#stop = stop;
    this.#entriesLeft = limits.entries;
    this.#bytesLeft = BigInt(limits.bytes);
  }

  /** The path of an entry; undefined for one whose name a skill cannot have. */
  pathOf(above: string, name: Buffer): string | undefined {
    this.#entriesLeft -= 1;
    this.assertFew(0);
    try {
      const path = above + utf8.decode(name);
      parseSkillPath(path, 'path');
      return path;
    } catch {
      const bytes = Buffer.byteLength(above) + name.length;
      const deep = above.split('/').length > 32 || bytes > longestSkillPath;
      this.skip(above + name.toString('latin1'), deep ? 'too_deep' : 'name');
      return undefined;
    }
  }

  /** Throws when so many more entries are too many, or when it has taken too long. */
  assertFew(more: number): void {
    this.#stop?.throwIfAborted();
    if (more <= this.#entriesLeft) return;
    throw new SecboxError('file_too_large', 'The exec left too many files; none of its changes are kept.');
  }

  skip(path: string, kind: SkippedEntry['kind']): void {
    if (this.skipped.length < mostSkipped) this.skipped.push({ path: path.slice(0, 4096), kind });
  }

  skipOther(path: string, stats: BigIntStats): void {
    if (stats.isSymbolicLink()) this.skip(path, 'symlink');
    else if (stats.isFIFO()) this.skip(path, 'fifo');
    else this.skip(path, stats.isSocket() ? 'socket' : 'device');
  }

  /** False for one that is too large, or protected and of the program's making: nothing of it is kept. */
  async take(folder: Directory, name: Buffer, path: string): Promise<boolean> {
    const isFixed = isProtected(path);
    if (isFixed && this.#fixed.size === 0) {
      this.skip(path, 'protected');
      return false;
    }
    folder.reclaim(name);
    const file = folder.openFile(name);
    let entry: FileEntry;
    try {
      const stats = file.bigStat();
      // A hole takes no room now, and all of it when it is copied; blocks may be taken without any length.
      const size = stats.size > stats.blocks * blockBytes ? stats.size : stats.blocks * blockBytes;
      const inode = `${stats.dev}:${stats.ino}`;
      const known = this.#hashes.get(inode);
      if (!stats.isFile() || (!known && size > this.#bytesLeft)) {
        this.skip(path, 'too_large');
        return false;
      }
      // Before it is read: what is in many files is read as often.
      if (!known) this.#bytesLeft -= size;
      const hash = known ?? (await hashFile(file, this.#stop));
      if (stats.nlink > 1n) this.#hashes.set(inode, hash);
      const { sha256, length } = hash;
      entry = { sha256, bytes: length, executable: (Number(stats.mode) & 0o100) !== 0 };
      if (isFixed && !this.#fixed.has(identityOf(entry))) {
        this.skip(path, 'protected');
        return false;
      }
      this.files.set(path, entry);
      if (sameFile(this.#base.files.get(path), entry)) {
        if (!known) this.#bytesLeft += size;
        return true;
      }
      if (this.contents.has(sha256)) return true;
    } finally {
      file.close();
    }
    await this.#keep(folder, name, entry);
    return true;
  }

  async #keep(folder: Directory, name: Buffer, { sha256, executable }: FileEntry): Promise<void> {
    const kept = join(this.#changed.path, sha256);
    try {
      folder.link(name, this.#changed.directory, sha256);
    } catch (error) {
      if (!isErrno(error, 'EXDEV', 'EPERM', 'EMLINK')) throw error;
      const file = folder.openFile(name);
      try {
        await this.#changed.directory.remove(sha256);
        const copy = this.#changed.directory.createFile(sha256, 0o644);
        try {
          for await (const chunk of file.chunks()) {
            this.#stop?.throwIfAborted();
            await copy.append(chunk);
          }
        } finally {
          copy.close();
        }
      } finally {
        file.close();
      }
    }
    await this.#durable.finishContent(kept, executable);
    this.contents.set(sha256, { path: kept, executable, isSynced: true });
  }
}

function identityOf({ sha256, executable }: FileEntry): string {
  return `${sha256} ${executable}`;
}

/** A program may write what no call may: a SKILL.md elsewhere than in the root. */
function isProtected(path: string): boolean {
  try {
    refuseProtected(path.split('/'), 'skill');
    return false;
  } catch {
    return true;
  }
}
