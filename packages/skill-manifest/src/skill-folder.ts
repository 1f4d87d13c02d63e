import { createHash, hash } from 'node:crypto';
import { isErrno, readTree, type Tree, type TreeEntry, type TreeLimits } from '@secbox/workspace';
import { manifestName } from './manifest.js';
import { fileProblem, type SkillProblem } from './problem.js';

/** A file of a skill as it was when the folder was read. */
export interface SkillFile {
  readonly path: string;
  readonly executable: boolean;
  readonly sha256: string;
  readonly content: Buffer;
}

export interface SkillFolder {
  /** In the order of their paths. */
  readonly files: readonly SkillFile[];
  /** Of every path, mode and content. */
  readonly digest: string;
  /** Changes when anything in the folder does, as far as the file system tells without reading. */
  readonly signature: string;
  /** Where there may be changes; empty for the folder itself. */
  readonly folders: readonly string[];
  readonly problems: readonly SkillProblem[];
}

export const folderLimits: TreeLimits = {
  maxEntries: 200,
  maxDepth: 8,
  maxFileBytes: 2 * 1024 ** 2,
  maxBytes: 4 * 1024 ** 2,
};

/** Names that an invocation puts beside a skill's files. */
const reserved: ReadonlySet<string> = new Set(['input.json', 'files']);
const mostProblems = 20;

/** Whether a program that runs sees the file: not what is there for people and tests. */
export function isForProgram(path: string): boolean {
  return path !== manifestName && path !== 'README.md' && !path.startsWith('tests/');
}

/** Reads all of a skill's folder: nothing is followed, nothing but regular files opened, and no more than the limits. */
export function readSkillFolder(folder: string, limits = folderLimits): SkillFolder {
  const tree = readTree(folder, limits);
  const files = tree.entries
    .flatMap(({ path, stats, content }): SkillFile[] => {
      if (!content) return [];
      const sha256 = hash('sha256', content);
      return [{ path: path.join('/'), executable: (Number(stats.mode) & 0o100) !== 0, sha256, content }];
    })
    .sort((a, b) => (a.path < b.path ? -1 : 1));
  const problems = [...exceededProblems(tree, limits), ...tree.entries.flatMap(entryProblems)];
  return {
    files,
    digest: digestOf(files),
    signature: signatureOf(tree),
    folders: [
      '',
      ...tree.entries.filter(({ stats }) => stats.isDirectory()).map(({ path }) => path.join('/')),
    ],
    problems: problems.slice(0, mostProblems),
  };
}

/** What {@link SkillFolder.signature} is now, without opening a file. */
export function folderSignature(folder: string, limits = folderLimits): string {
  return signatureOf(readTree(folder, limits, { contents: false }));
}

function signatureOf({ entries }: Tree): string {
  const lines = entries.map(
    ({ path, stats }) =>
      `${path.join('/')}\0${stats.mode}\0${stats.size}\0${stats.mtimeNs}\0${stats.ctimeNs}\0${stats.ino}`,
  );
  return hash('sha256', lines.sort().join('\n'));
}

function exceededProblems({ exceeded }: Tree, limits: TreeLimits): SkillProblem[] {
  const words: Readonly<Record<keyof TreeLimits, string>> = {
    maxEntries: `has more than ${limits.maxEntries} files and folders`,
    maxDepth: `lies more than ${limits.maxDepth} folders deep`,
    maxFileBytes: `has more than ${limits.maxFileBytes} bytes`,
    maxBytes: `makes the folder hold more than ${limits.maxBytes} bytes`,
  };
  return exceeded.map(({ limit, path }) =>
    fileProblem(limit === 'maxEntries' ? '' : path.join('/'), words[limit]),
  );
}

function entryProblems({ path, isExact, stats }: TreeEntry): SkillProblem[] {
  const problem = (message: string) => [fileProblem(path.join('/'), message)];
  const name = path.at(-1) ?? '';
  if (!isExact || /[\p{Cc}\\]/u.test(name)) {
    return problem('has a name with control characters, backslashes or bytes that are not UTF-8');
  }
  if (path.length === 1 && reserved.has(name)) {
    return problem('has a name that an invocation needs for its own; choose another');
  }
  if (stats.isSymbolicLink()) return problem('is a symbolic link; a skill holds files only');
  if (!stats.isFile() && !stats.isDirectory()) return problem('is neither a file nor a folder');
  return [];
}

/** Over the sorted paths; of a mode only "executable" counts, as that is all that git keeps. */
export function digestOf(files: readonly SkillFile[]): string {
  const digest = createHash('sha256');
  for (const { path, executable, content } of files) {
    digest.update(`${path}\0${executable ? '755' : '644'}\0${content.length}\0`).update(content);
  }
  return digest.digest('hex');
}

/** Whether a folder went, or became something else, before it was read. */
export function isGone(error: unknown): boolean {
  return isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP');
}
