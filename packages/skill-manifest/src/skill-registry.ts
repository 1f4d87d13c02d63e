import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '@secbox/logging';
import { FolderWatch } from './folder-watch.js';
import { loadSkillFolder, type LoadedFolder } from './load-skill.js';
import { ManifestChecker, type LimitsContext } from './manifest-checker.js';
import { manifestName } from './manifest.js';
import { fileProblem } from './problem.js';
import { folderSignature, isGone } from './skill-folder.js';
import { validSkill, type Skill } from './skill.js';

export interface SkillRegistryOptions {
  /** Holds one folder per skill. */
  readonly folder: string;
  readonly images: readonly string[];
  /** What limits may not go past at this moment. */
  readonly limits: () => LimitsContext;
  readonly logger: Logger;
  /** How long to wait for the rest of a change, and how often to look without having been told. */
  readonly debounceMs?: number;
  readonly pollMs?: number;
  /** How many are read; of more it is told that they are left out. */
  readonly mostSkills?: number;
  /** How much their files may be together. */
  readonly mostBytes?: number;
}

/** All skills at one moment, in the order of their ids. It never changes; the next moment has another one. */
export interface SkillSnapshot {
  readonly revision: number;
  readonly skills: ReadonlyMap<string, Skill>;
}

const defaultDebounceMs = 20;
const defaultPollMs = 5000;
const defaultMostSkills = 10_000;
const turnMs = 8;
/** Files of skills are held in memory, so that an invocation has them whole whatever happens to the folder. */
const defaultMostBytes = 256 * 1024 ** 2;

/** The skills of a folder, kept up to date with it. One that is not valid does not disturb the others. */
export class SkillRegistry {
  readonly #options: SkillRegistryOptions;
  readonly #checker = new ManifestChecker();
  readonly #loaded = new Map<string, LoadedFolder>();
  readonly #listeners = new Set<() => void>();
  readonly #dirty = new Set<string>();
  readonly #watch: FolderWatch;
  #snapshot: SkillSnapshot = { revision: 0, skills: new Map() };
  #working: Promise<void> = Promise.resolve();
  #debounce: NodeJS.Timeout | undefined;
  #poll: NodeJS.Timeout | undefined;
  #heldBytes = 0;
  #leftOut = 0;
  #blind = false;
  #closed = false;

  private constructor(options: SkillRegistryOptions) {
    this.#options = options;
    this.#watch = new FolderWatch({
      root: options.folder,
      onChange: (name) => this.#touched(name),
      onBlind: (error) => this.#becameBlind(error),
    });
  }

  static async open(options: SkillRegistryOptions): Promise<SkillRegistry> {
    const registry = new SkillRegistry(options);
    registry.#watch.watchRoot();
    await registry.reload();
    registry.#pollLater();
    return registry;
  }

  get snapshot(): SkillSnapshot {
    return this.#snapshot;
  }

  /** Told after each change of the list or of a skill in it. Gives what ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Looks for changes now: of these folders, or of all. */
  reload(names?: readonly string[]): Promise<void> {
    const work = this.#working.then(() => this.#reload(names));
    this.#working = work.catch(() => undefined);
    return work;
  }

  /** Asks anew whether limits are allowed, because Settings have changed. */
  recheck(): void {
    const skills = new Map<string, Skill>();
    for (const [id, loaded] of this.#loaded) skills.set(id, this.#skillOf(loaded));
    this.#publish(skills);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#debounce);
    clearTimeout(this.#poll);
    this.#watch.close();
    await this.#working;
  }

  async #reload(names: readonly string[] | undefined): Promise<void> {
    if (this.#closed) return;
    const { folder, images, mostSkills = defaultMostSkills } = this.#options;
    const wanted = (names ?? (await this.#changed())).filter(isSkillName);
    const read: (readonly [string, LoadedFolder | undefined])[] = [];
    const takeTurns = turns();
    let left = 0;
    for (const id of wanted) {
      if (!this.#loaded.has(id) && this.#loaded.size + read.length >= mostSkills) {
        left += 1;
        continue;
      }
      read.push([id, loadSkillFolder(folder, id, { checker: this.#checker, images })]);
      await takeTurns();
    }
    this.#take(read);
    if (names !== undefined || left === this.#leftOut) return;
    this.#leftOut = left;
    this.#options.logger.warn('skills.too_many', { most: mostSkills, left_out: left });
  }

  /** Those whose folder is not as it was when it was read, and those that are not there any more. */
  async #changed(): Promise<string[]> {
    const { folder } = this.#options;
    const takeTurns = turns();
    const present = foldersIn(folder);
    if (!present) this.#options.logger.warn('skills.folder_missing', { folder });
    const changed = [...this.#loaded.keys()].filter((id) => !present?.has(id));
    for (const id of present ?? []) {
      const known = this.#loaded.get(id);
      if (!known) {
        changed.push(id);
        continue;
      }
      if (known.signature !== currentSignature(join(folder, id))) changed.push(id);
      await takeTurns();
    }
    return changed;
  }

  #take(read: readonly (readonly [string, LoadedFolder | undefined])[]): void {
    const skills = new Map(this.#snapshot.skills);
    for (const [id, loaded] of read) {
      this.#watch.follow(id, loaded?.folders ?? []);
      if (loaded) {
        const held = this.#affordable(id, loaded);
        this.#loaded.set(id, held);
        const skill = this.#skillOf(held);
        if (isSame(skills.get(id), skill)) continue;
        skills.set(id, skill);
        this.#log(skill);
      } else {
        this.#heldBytes -= sizeOf(this.#loaded.get(id));
        this.#loaded.delete(id);
        skills.delete(id);
      }
    }
    this.#publish(skills);
  }

  /** Past what may be held, a skill is listed and not offered; it is tried again with every poll. */
  #affordable(id: string, loaded: LoadedFolder): LoadedFolder {
    const { mostBytes = defaultMostBytes } = this.#options;
    this.#heldBytes -= sizeOf(this.#loaded.get(id));
    if (this.#heldBytes + sizeOf(loaded) <= mostBytes) {
      this.#heldBytes += sizeOf(loaded);
      return loaded;
    }
    const problem = fileProblem('', `would make the files of all skills more than ${mostBytes} bytes`);
    const { manifest: _, ...folder } = loaded;
    return { ...folder, files: [], signature: '', problems: [problem] };
  }

  #skillOf(loaded: LoadedFolder): Skill {
    const { id, digest, files, manifest, problems } = loaded;
    const facts = { id, digest, files: Object.freeze(files) };
    const bytes = files.find(({ path }) => path === manifestName)?.content ?? Buffer.alloc(0);
    const told = [
      ...problems,
      ...(manifest ? this.#checker.checkLimits(bytes, manifest.limits, this.#options.limits()) : []),
    ];
    if (manifest && told.length === 0) return validSkill(facts, manifest);
    return Object.freeze({
      valid: false as const,
      ...facts,
      ...(manifest && { manifest }),
      problems: told,
    });
  }

  #publish(changed: ReadonlyMap<string, Skill>): void {
    const before = this.#snapshot.skills;
    const skills = new Map([...changed].sort(([a], [b]) => (a < b ? -1 : 1)));
    const same =
      before.size === skills.size && [...skills].every(([id, skill]) => isSame(before.get(id), skill));
    if (same && this.#snapshot.revision > 0) return;
    this.#snapshot = Object.freeze({ revision: this.#snapshot.revision + 1, skills });
    for (const listener of this.#listeners) listener();
  }

  #log(skill: Skill): void {
    const { logger } = this.#options;
    if (skill.valid) logger.debug('skills.loaded', { skill_id: skill.id, digest: skill.digest });
    else logger.warn('skills.invalid', { skill_id: skill.id, problems: skill.problems.length });
  }

  #touched(name: string): void {
    if (this.#closed || !isSkillName(name)) return;
    this.#dirty.add(name);
    clearTimeout(this.#debounce);
    this.#debounce = setTimeout(() => {
      const names = [...this.#dirty];
      this.#dirty.clear();
      void this.#reloadInBackground(names);
    }, this.#options.debounceMs ?? defaultDebounceMs).unref();
  }

  #reloadInBackground(names?: readonly string[]): Promise<void> {
    return this.reload(names).catch((error: unknown) => {
      this.#options.logger.error('skills.not_reloaded', { error });
    });
  }

  #pollLater(): void {
    this.#poll = setTimeout(() => {
      this.#watch.watchRoot();
      void this.#reloadInBackground().then(() => this.#closed || this.#pollLater());
    }, this.#options.pollMs ?? defaultPollMs).unref();
  }

  #becameBlind(error: unknown): void {
    if (!this.#blind && !isGone(error)) this.#options.logger.warn('skills.polled_only', { error });
    this.#blind = true;
  }
}

/** What begins otherwise is ours (`_schema`) or hidden. */
function isSkillName(name: string): boolean {
  return name !== '' && !name.startsWith('_') && !name.startsWith('.') && !name.includes('/');
}

/** Unchanged folders stay the very same object, whoever looks. */
function isSame(before: Skill | undefined, now: Skill): boolean {
  if (before === now) return true;
  if (before?.valid !== now.valid || before.digest !== now.digest) return false;
  return before.valid || now.valid || JSON.stringify(before.problems) === JSON.stringify(now.problems);
}

function sizeOf(folder: LoadedFolder | undefined): number {
  return (folder?.files ?? []).reduce((sum, { content }) => sum + content.length, 0);
}

/** Undefined when there is no such folder. */
function foldersIn(folder: string): ReadonlySet<string> | undefined {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return new Set(
      entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink()).map(({ name }) => name),
    );
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** Of what cannot be read none, so that it is tried again. */
function currentSignature(folder: string): string | undefined {
  try {
    return folderSignature(folder);
  } catch {
    return undefined;
  }
}

/** Lets requests be answered meanwhile, some hundred times a second. */
function turns(): () => Promise<void> {
  let last = performance.now();
  return async () => {
    if (performance.now() - last < turnMs) return;
    await new Promise((resolve) => setImmediate(resolve));
    last = performance.now();
  };
}
