import { type LayeredSkillId, parseLayeredSkillId } from '@secbox/contracts';
import { invalidArchive } from './archive-limits.js';
import type { PlacedEntry } from './entry-paths.js';

/** A skill of the archive with its entries, whose paths begin at the skill's root. */
export interface SkillEntries {
  readonly skillId: LayeredSkillId;
  readonly entries: readonly PlacedEntry[];
}

const signs = new Set(['skill.md', 'readme.md']);

/**
 * Which skills an archive holds. A single folder at its top is the skill, by its name; several folders are several
 * skills when each has a SKILL.md or README.md; anything else is one skill, named as the archive is. A folder
 * `skills` around them, and a folder around itself as in `A/A/`, are looked through.
 */
export function skillsOf(entries: readonly PlacedEntry[], archiveName: string): SkillEntries[] {
  const top = new Folder('', entries);
  if (top.isEmpty) throw invalidArchive('it holds no files');
  const single = top.onlyFolder();
  const holder = single?.name === 'skills' && single.holdsSkills() ? single : top;
  const folders = holder.holdsSkills() ? holder.folders() : single ? [single] : [];
  const skills = folders.map((folder) => ({
    skillId: parseLayeredSkillId(folder.name),
    entries: folder.withoutRepeats().entries,
  }));
  if (skills.length === 0)
    return [{ skillId: parseLayeredSkillId(nameOf(archiveName)), entries: top.entries }];
  const empty = skills.find((skill) => !skill.entries.some(({ kind }) => kind === 'file'));
  if (empty) throw invalidArchive('a skill in it holds no files', empty.skillId);
  return skills;
}

/** `dir/weather.zip` is `weather`. */
function nameOf(archiveName: string): string {
  return (archiveName.split(/[/\\]/).at(-1) ?? '').replace(/\.zip$/i, '');
}

class Folder {
  constructor(
    readonly name: string,
    readonly entries: readonly PlacedEntry[],
  ) {}

  get isEmpty(): boolean {
    return !this.entries.some(({ kind }) => kind === 'file');
  }

  folders(): Folder[] {
    const below = new Map<string, PlacedEntry[]>();
    for (const entry of this.entries) {
      const [name, ...rest] = entry.path;
      if (name === undefined || (rest.length === 0 && entry.kind === 'file')) continue;
      const list = below.get(name) ?? [];
      below.set(name, list);
      if (rest.length > 0) list.push({ ...entry, path: rest });
    }
    return [...below].map(([name, entries]) => new Folder(name, entries));
  }

  hasFiles(): boolean {
    return this.entries.some(({ kind, path }) => kind === 'file' && path.length === 1);
  }

  onlyFolder(): Folder | undefined {
    const folders = this.folders();
    return folders.length === 1 && !this.hasFiles() ? folders[0] : undefined;
  }

  /** Without files of its own, and each folder in it is a skill by a sign of it. */
  holdsSkills(): boolean {
    const folders = this.folders();
    return (
      folders.length > 0 && !this.hasFiles() && folders.every((folder) => folder.withoutRepeats().hasSign())
    );
  }

  hasSign(): boolean {
    return this.entries.some(
      ({ kind, path: [name = '', ...rest] }) =>
        kind === 'file' && rest.length === 0 && signs.has(name.toLowerCase()),
    );
  }

  withoutRepeats(): Folder {
    const only = this.onlyFolder();
    return only?.name === this.name ? only.withoutRepeats() : this;
  }
}
