/**
 * What skills as files mean, in the plainest form: every user has whole copies of everything, in memory. It knows of no
 * layers, links, generations or pins on disk.
 */
export interface ModelTree {
  readonly files: ReadonlyMap<string, string>;
  /** Every folder. */
  readonly folders: ReadonlySet<string>;
}

interface ModelSkill {
  /** What the baseline was when the user last took it over. */
  readonly base: ModelTree | undefined;
  /** Undefined when the user deleted it. */
  readonly tree: ModelTree | undefined;
}

export const nothing: ModelTree = { files: new Map(), folders: new Set() };

export class Refused extends Error {
  constructor(readonly code: string) {
    super(code);
  }
}

export function parentsOf(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, n) => parts.slice(0, n + 1).join('/'));
}

const inside = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`);

/** Content and the folders that nothing is in: all that can be told apart. */
export function canonical({ files, folders }: ModelTree): string {
  const all = [...files.keys(), ...folders];
  const empty = [...folders].filter((folder) => !all.some((path) => path !== folder && inside(path, folder)));
  return JSON.stringify([[...files].sort(([a], [b]) => (a < b ? -1 : 1)), empty.sort()]);
}

export function write(tree: ModelTree, path: string, content: string): ModelTree {
  if (tree.folders.has(path) || parentsOf(path).some((folder) => tree.files.has(folder))) {
    throw new Refused('file_in_the_way');
  }
  return {
    files: new Map(tree.files).set(path, content),
    folders: new Set([...tree.folders, ...parentsOf(path)]),
  };
}

export function remove(tree: ModelTree, path: string): ModelTree {
  if (!tree.files.has(path) && !tree.folders.has(path)) throw new Refused('file_not_found');
  return {
    files: new Map([...tree.files].filter(([each]) => !inside(each, path))),
    folders: new Set([...tree.folders].filter((each) => !inside(each, path))),
  };
}

export function makeFolder(tree: ModelTree, path: string): ModelTree {
  if ([path, ...parentsOf(path)].some((each) => tree.files.has(each))) throw new Refused('file_in_the_way');
  return { files: tree.files, folders: new Set([...tree.folders, path, ...parentsOf(path)]) };
}

export function move(tree: ModelTree, from: string, to: string): ModelTree {
  const rest = remove(tree, from);
  if (inside(to, from)) throw new Refused('invalid_path');
  if (tree.files.has(to) || tree.folders.has(to)) throw new Refused('file_in_the_way');
  if (parentsOf(to).some((folder) => rest.files.has(folder))) throw new Refused('file_in_the_way');
  const moved = (path: string) => to + path.slice(from.length);
  return {
    files: new Map([
      ...rest.files,
      ...[...tree.files].filter(([path]) => inside(path, from)).map(([path, c]) => [moved(path), c] as const),
    ]),
    folders: new Set([
      ...rest.folders,
      ...parentsOf(to),
      ...[...tree.folders].filter((path) => inside(path, from)).map(moved),
    ]),
  };
}

/** A change beats a deletion; where both changed, what is here stays, and what came lies beside if it has a name there. */
export function merge(
  base: ModelTree,
  here: ModelTree,
  coming: ModelTree,
  mark?: string,
): { tree: ModelTree; conflicts: string[] } {
  const files = new Map(here.files);
  const conflicts: string[] = [];
  const paths = [...new Set([...base.files.keys(), ...coming.files.keys()])].sort();
  for (const path of paths.filter((each) => !coming.files.has(each) && files.has(each))) {
    if (files.get(path) === base.files.get(path)) files.delete(path);
    else conflicts.push(path);
  }
  const renamed = new Map<string, string>();
  for (const path of paths) {
    const [was, is, will] = [base.files.get(path), here.files.get(path), coming.files.get(path)];
    if (will === undefined || will === was || will === is) continue;
    const blockedBy =
      parentsOf(path).find((folder) => files.has(folder)) ??
      ([...files.keys()].some((each) => each.startsWith(`${path}/`)) ? path : undefined);
    if (blockedBy === undefined && (is === was || is === undefined)) {
      files.set(path, will);
      if (is !== was) conflicts.push(path);
      continue;
    }
    conflicts.push(path);
    if (mark === undefined) continue;
    const at = blockedBy ?? path;
    const aside = renamed.get(at) ?? `${at}.${mark}`;
    renamed.set(at, aside);
    files.set(aside + path.slice(at.length), will);
  }
  const kept = [...new Set([...here.folders, ...coming.folders])].filter((folder) =>
    coming.folders.has(folder) === base.folders.has(folder)
      ? here.folders.has(folder)
      : coming.folders.has(folder),
  );
  const needed = [...files.keys()].flatMap(parentsOf);
  const isFree = (folder: string) => ![folder, ...parentsOf(folder)].some((each) => files.has(each));
  return {
    tree: {
      files,
      folders: new Set([...kept.filter(isFree).flatMap((f) => [f, ...parentsOf(f)]), ...needed]),
    },
    conflicts,
  };
}

export class Model {
  readonly current = new Map<string, ModelTree>();
  readonly versions = new Map<string, ModelTree[]>();
  readonly #users = new Map<string, Map<string, ModelSkill>>();

  /** What a user has, after coming by: what is new in the baseline is theirs as it is now. */
  of(user: string): Map<string, ModelSkill> {
    const skills = this.#users.get(user) ?? new Map<string, ModelSkill>();
    this.#users.set(user, skills);
    for (const [skill, tree] of this.current) if (!skills.has(skill)) skills.set(skill, { base: tree, tree });
    return skills;
  }

  tree(user: string, skill: string): ModelTree {
    const tree = this.of(user).get(skill)?.tree;
    if (!tree) throw new Refused('skill_not_found');
    return tree;
  }

  change(user: string, skill: string, change: (tree: ModelTree) => ModelTree, evenNew = false): void {
    const known = this.of(user).get(skill);
    if (!known?.tree && !evenNew) throw new Refused('skill_not_found');
    this.of(user).set(skill, { base: known?.base, tree: change(known?.tree ?? nothing) });
  }

  deleteSkill(user: string, skill: string): void {
    this.tree(user, skill);
    const base = this.of(user).get(skill)?.base;
    if (base) this.of(user).set(skill, { base, tree: undefined });
    else this.of(user).delete(skill);
  }

  publish(skill: string, tree: ModelTree): void {
    this.current.set(skill, tree);
    const known = this.versions.get(skill) ?? [];
    this.versions.set(skill, known.some((each) => same(each, tree)) ? known : [...known, tree]);
  }

  baseline(user: string, skill: string, force: boolean): void {
    const tree = this.tree(user, skill);
    const base = this.of(user).get(skill)?.base;
    const current = this.current.get(skill);
    if (!force && !same(base, current) && !same(tree, current)) throw new Refused('baseline_moved');
    this.publish(skill, tree);
    this.of(user).set(skill, { base: tree, tree });
  }

  sync(user: string, skill: string, keep: 'mine' | 'theirs'): string[] {
    const known = this.of(user).get(skill);
    if (!known) throw new Refused('skill_not_found');
    const current = this.current.get(skill);
    if (known.tree && keep === 'theirs' && !known.base && !current)
      throw new Refused('skill_version_not_found');
    if (!known.tree || keep === 'theirs') {
      if (current) this.of(user).set(skill, { base: current, tree: current });
      else this.of(user).delete(skill);
      return [];
    }
    if (same(known.base, current)) return [];
    const { tree, conflicts } = merge(known.base ?? nothing, known.tree, current ?? nothing);
    if (!current && tree.files.size === 0) this.of(user).delete(skill);
    else this.of(user).set(skill, { base: current, tree });
    return conflicts;
  }

  status(user: string, skill: string): string {
    const { base, tree } = this.of(user).get(skill) ?? { base: undefined, tree: undefined };
    const current = this.current.get(skill);
    if (!base && !current) return 'NEW';
    if (!same(base, current)) return 'OUT_OF_SYNC';
    return same(base, tree) ? 'UNCHANGED' : 'MODIFIED';
  }
}

function same(a: ModelTree | undefined, b: ModelTree | undefined): boolean {
  if (!a || !b) return a === b;
  return canonical(a) === canonical(b);
}
