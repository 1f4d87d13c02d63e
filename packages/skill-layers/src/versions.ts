import { join } from 'node:path';
import { createTwoFilesPatch } from 'diff';
import type { ReadableSkill } from './files/readable-skill.js';
import { contentAt } from './files/readable-skill.js';
import { changesBetween } from './tree/changes.js';

/** One of the trees that can be compared: what the user sees, what it is pinned to, what is current, or a version. */
export type DiffSide = 'mine' | 'pinned' | 'current' | { readonly version: string };

export interface FileDiff {
  readonly path: string;
  readonly change: 'added' | 'changed' | 'deleted';
  readonly before: string | null;
  readonly after: string | null;
  /** Unified; null where the file is no text, or too large or too different to be compared line by line. */
  readonly patch: string | null;
}

export interface SkillDiff {
  readonly files: readonly FileDiff[];
  /** There are more differences than are told. */
  readonly truncated: boolean;
}

const largestCompared = 1024 ** 2;
const mostFiles = 500;
/** For one file; comparing holds up everybody else. */
const mostMs = 100;
/** For all of them. */
const totalMs = 1_000;

/** How one tree became the other, file by file. */
export async function diffSkills(from: ReadableSkill, to: ReadableSkill): Promise<SkillDiff> {
  const { added, changed, deleted } = changesBetween(from.tree, to.tree);
  const all = [
    ...added.map(({ path, sha256 }) => ({ path, change: 'added' as const, before: null, after: sha256 })),
    ...changed.map(({ path, before, sha256 }) => ({
      path,
      change: 'changed' as const,
      before,
      after: sha256,
    })),
    ...deleted.map(({ path, sha256 }) => ({ path, change: 'deleted' as const, before: sha256, after: null })),
  ].sort((a, b) => (a.path < b.path ? -1 : 1));
  const files: FileDiff[] = [];
  let leftMs = totalMs;
  for (const each of all.slice(0, mostFiles)) {
    const begun = performance.now();
    const patch = leftMs > 0 ? await patchOf(each.path, from, to) : null;
    leftMs -= performance.now() - begun;
    files.push({ ...each, patch });
  }
  return { files, truncated: all.length > mostFiles };
}

async function patchOf(path: string, from: ReadableSkill, to: ReadableSkill): Promise<string | null> {
  const [before, after] = [await textAt(from, path), await textAt(to, path)];
  if (before === null || after === null) return null;
  const name = (side: string, skill: ReadableSkill) =>
    skill.tree.files.has(path) ? join(side, path) : '/dev/null';
  const patch = createTwoFilesPatch(name('a', from), name('b', to), before, after, undefined, undefined, {
    context: 3,
    timeout: mostMs,
  });
  // Without the line that jsdiff puts before each, and that no other program expects.
  return patch === undefined ? null : patch.replace(/^=+\n/, '');
}

/** Nothing for a file that is not there, null for one that cannot be compared. */
async function textAt(skill: ReadableSkill, path: string): Promise<string | null> {
  const entry = skill.tree.files.get(path);
  if (!entry) return '';
  if (entry.bytes > largestCompared) return null;
  const content = await contentAt(skill, path, largestCompared);
  return content.includes(0) ? null : content.toString('utf8');
}
