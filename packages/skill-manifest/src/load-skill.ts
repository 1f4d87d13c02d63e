import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { FittingParts, ManifestChecker } from './manifest-checker.js';
import { manifestName, type SkillManifest } from './manifest.js';
import { fileProblem } from './problem.js';
import { isForProgram, isGone, readSkillFolder, type SkillFolder } from './skill-folder.js';

/** What one folder holds, before Settings are asked. */
export interface LoadedFolder extends SkillFolder {
  readonly id: string;
  readonly manifest?: SkillManifest;
  /** Of a manifest, right or wrong. */
  readonly fitting?: FittingParts;
}

export interface LoadContext {
  readonly checker: ManifestChecker;
  readonly images: readonly string[];
}

/** Undefined when there is no such folder (any more). */
export function loadSkillFolder(
  skills: string,
  id: string,
  { checker, images }: LoadContext,
): LoadedFolder | undefined {
  let read: SkillFolder;
  try {
    read = readSkillFolder(join(skills, id));
  } catch (error) {
    return whatIsThere(join(skills, id), id, error);
  }
  const manifestFile = read.files.find(({ path }) => path === manifestName);
  if (!manifestFile) {
    const missing = fileProblem(manifestName, 'is missing; every skill has one');
    const told = read.problems.some(({ file }) => file === manifestName);
    return { ...read, id, problems: told ? read.problems : [...read.problems, missing] };
  }
  const files = new Set(read.files.map(({ path }) => path).filter(isForProgram));
  const { manifest, fitting, problems } = checker.check(manifestFile.content, {
    folder: id,
    files,
    images,
  });
  return { ...read, id, fitting, ...(manifest && { manifest }), problems: [...read.problems, ...problems] };
}

function whatIsThere(path: string, id: string, error: unknown): LoadedFolder | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats || !(stats.isDirectory() || stats.isSymbolicLink())) return undefined;
  const why = stats.isSymbolicLink()
    ? 'is a symbolic link; a skill is a folder of its own'
    : `cannot be read${isGone(error) ? ': it changed meanwhile' : ''}`;
  return { id, files: [], digest: '', signature: '', folders: [''], problems: [fileProblem('', why)] };
}
