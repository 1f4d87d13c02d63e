import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Call, CommandOption } from '../command.js';
import { UsageError } from '../exit-codes.js';
import type { Surroundings } from '../surroundings.js';

export const folderOption = {
  dir: {
    type: 'string',
    value: 'FOLDER',
    help: 'the folder of skills ($SECBOX_SKILLS_DIR, else ./skills, else that of the repository)',
  },
} as const satisfies Record<string, CommandOption>;

export interface SkillFolderPlace {
  /** The folder that holds it, and its own name there. */
  readonly skills: string;
  readonly id: string;
}

export function skillsFolder(call: Call, { environment, cwd, root }: Surroundings): string {
  const chosen = call.text('dir') ?? (environment['SECBOX_SKILLS_DIR']?.trim() || undefined);
  if (chosen !== undefined) return resolve(cwd, chosen);
  const here = join(cwd, 'skills');
  return existsSync(here) ? here : join(root, 'skills');
}

/** By its id in the folder of skills, or by its path. */
export function placeOf(word: string, skills: string, cwd: string): SkillFolderPlace {
  const path = word.includes('/') || word === '.' || word === '..' ? resolve(cwd, word) : join(skills, word);
  if (!isFolder(path)) throw new UsageError(`There is no folder ${path}.`);
  return { skills: dirname(path), id: basename(path) };
}

/** All of a folder of skills; what begins with _ or . is none. */
export function placesIn(skills: string): SkillFolderPlace[] {
  if (!isFolder(skills)) throw new UsageError(`There is no folder ${skills}.`);
  return readdirSync(skills)
    .filter((name) => !/^[_.]/.test(name) && isFolder(join(skills, name)))
    .sort()
    .map((id) => ({ skills, id }));
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
