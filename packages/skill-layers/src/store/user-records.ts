import { readdir, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type LayeredSkillId, parseLayeredSkillId } from '@secbox/contracts';
import { isErrno } from '@secbox/workspace';
import {
  type Delta,
  type DeltaDocument,
  deltaFromDocument,
  deltaToDocument,
  emptyDelta,
} from '../tree/delta.js';
import type { DurableFiles } from './durable-files.js';
import type { LayerPaths, UserPlace } from './layer-paths.js';

/** What one user has made of one skill. */
export interface SkillRecord {
  /** The baseline version that changes are counted from; null where there was none. */
  readonly pin: string | null;
  /** Where the changed files lie; 0 while there are none. */
  readonly generation: number;
  /** Against the pinned version, or against nothing where it is opaque. */
  readonly delta: Delta;
  /** Nothing of the baseline shines through. */
  readonly opaque: boolean;
  /** The user deleted the skill, though the baseline has it. */
  readonly absent: boolean;
}

interface RecordDocument {
  /** The user has no skill of that id any more, and neither had the baseline. */
  readonly gone: boolean;
  readonly pin: string | null;
  readonly generation: number;
  readonly opaque: boolean;
  readonly absent: boolean;
  readonly delta: DeltaDocument;
}

export interface UserState {
  readonly skills: ReadonlyMap<LayeredSkillId, SkillRecord>;
}

export function pinned(pin: string | null): SkillRecord {
  return { pin, generation: 0, delta: emptyDelta, opaque: false, absent: false };
}

const pinsName = 'pins.json';
/** Changes of several skills that are one; there until each skill's own document says so. */
const togetherName = 'together.json';
const lastUseName = 'last-use';
const touchEveryMs = 5 * 60_000;

/**
 * What every user has, on disk and in memory. One small document holds the pins of all skills; a skill that was touched
 * since has a document of its own, which takes precedence, and whose rename is the moment of every change. A change of
 * several skills is one document first, which whoever reads next takes apart.
 */
export class UserRecords {
  readonly #files: DurableFiles;
  readonly #paths: LayerPaths;
  readonly #known = new Map<string, Promise<Map<LayeredSkillId, SkillRecord> | undefined>>();
  readonly #used = new Map<string, number>();
  readonly #capacity: number;

  constructor(files: DurableFiles, paths: LayerPaths, capacity = 5_000) {
    this.#files = files;
    this.#paths = paths;
    this.#capacity = capacity;
  }

  /** Undefined for a user that has not been here, or not for long. */
  async find(place: UserPlace): Promise<UserState | undefined> {
    const skills = await this.#load(place);
    return skills && { skills };
  }

  /** Of all skills at once when the user comes for the first time; later only of those that came since. */
  async pin(place: UserPlace, pins: ReadonlyMap<LayeredSkillId, string>): Promise<void> {
    const skills = await this.#load(place);
    if (skills) {
      for (const [skillId, version] of pins) await this.put(place, skillId, pinned(version));
      return;
    }
    await this.#files.ensureFolder(this.#paths.userMeta(place));
    await this.#files.writeDocument(join(this.#paths.userMeta(place), pinsName), { pins: [...pins] });
    const begun = new Map([...pins].map(([skillId, version]) => [skillId, pinned(version)]));
    this.#known.set(keyOf(place), Promise.resolve(begun));
  }

  /** The change itself: before it the old record holds, after it the new one. */
  async put(
    place: UserPlace,
    skillId: LayeredSkillId,
    record: SkillRecord | undefined,
    first?: () => Promise<void>,
  ): Promise<void> {
    const skills = new Map(await this.#load(place));
    await this.#files.ensureFolder(this.#paths.userMeta(place));
    await this.#files.writeDocument(this.#documentOf(place, skillId), toDocument(record), first);
    if (record) skills.set(skillId, record);
    else skills.delete(skillId);
    this.#known.set(keyOf(place), Promise.resolve(skills));
  }

  /** As {@link put}, of several skills at one moment. */
  async putAll(
    place: UserPlace,
    records: ReadonlyMap<LayeredSkillId, SkillRecord>,
    first?: () => Promise<void>,
  ): Promise<void> {
    const [only] = records;
    if (records.size === 1 && only) return this.put(place, ...only, first);
    // What an earlier one may have left is taken apart before this one takes its place.
    await this.#load(place);
    const meta = this.#paths.userMeta(place);
    await this.#files.ensureFolder(meta);
    const skills = [...records].map(([skillId, record]) => [skillId, toDocument(record)]);
    try {
      await this.#files.writeDocument(join(meta, togetherName), { skills }, first);
    } finally {
      // Also when it failed: what there is now, the disk says.
      this.#known.delete(keyOf(place));
    }
  }

  forget(place: UserPlace): void {
    this.#known.delete(keyOf(place));
    this.#used.delete(keyOf(place));
  }

  /** Written down now and then only. */
  async touch(place: UserPlace, now: Date): Promise<void> {
    const key = keyOf(place);
    if (now.getTime() - (this.#used.get(key) ?? 0) < touchEveryMs) return;
    this.#used.set(key, now.getTime());
    const path = join(this.#paths.userMeta(place), lastUseName);
    try {
      await utimes(path, now, now);
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) throw error;
      await writeFile(path, '', { flag: 'a' });
      await utimes(path, now, now);
    }
  }

  async lastUse(place: UserPlace): Promise<number> {
    const meta = this.#paths.userMeta(place);
    for (const name of [lastUseName, pinsName]) {
      try {
        return Math.max((await stat(join(meta, name))).mtimeMs, this.#used.get(keyOf(place)) ?? 0);
      } catch (error) {
        if (!isErrno(error, 'ENOENT', 'ENOTDIR')) throw error;
      }
    }
    return 0;
  }

  #load(place: UserPlace): Promise<Map<LayeredSkillId, SkillRecord> | undefined> {
    const key = keyOf(place);
    const known = this.#known.get(key) ?? this.#read(place);
    // The most recently used stay.
    this.#known.delete(key);
    this.#known.set(key, known);
    known.catch(() => this.#known.delete(key));
    const [oldest] = this.#known.keys();
    if (this.#known.size > this.#capacity && oldest !== undefined) this.#known.delete(oldest);
    return known;
  }

  async #read(place: UserPlace): Promise<Map<LayeredSkillId, SkillRecord> | undefined> {
    const meta = this.#paths.userMeta(place);
    const names = await namesIn(meta);
    if (!names.includes(pinsName)) return undefined;
    if (names.includes(togetherName)) {
      await this.#takeApart(place);
      return this.#read(place);
    }
    const { pins } = (await this.#files.readDocument(join(meta, pinsName))) as { pins: [string, string][] };
    const skills = new Map(pins.map(([skillId, pin]) => [parseLayeredSkillId(skillId), pinned(pin)]));
    for (const name of names.filter((each) => each.endsWith('.skill.json'))) {
      const skillId = parseLayeredSkillId(name.slice(0, -'.skill.json'.length));
      const { delta, gone, ...rest } = (await this.#files.readDocument(join(meta, name))) as RecordDocument;
      if (gone) skills.delete(skillId);
      else skills.set(skillId, { ...rest, delta: deltaFromDocument(delta) });
    }
    return skills;
  }

  /** Does no harm when it is done again: nothing is put before all of it is. */
  async #takeApart(place: UserPlace): Promise<void> {
    const path = join(this.#paths.userMeta(place), togetherName);
    const { skills } = (await this.#files.readDocument(path)) as { skills: [string, RecordDocument][] };
    for (const [skillId, document] of skills) {
      await this.#files.writeDocument(this.#documentOf(place, parseLayeredSkillId(skillId)), document);
    }
    // Lasts with the next document: that syncs the folder.
    await this.#files.removeTree(path);
  }

  #documentOf(place: UserPlace, skillId: LayeredSkillId): string {
    return join(this.#paths.userMeta(place), `${skillId}.skill.json`);
  }
}

function toDocument(record: SkillRecord | undefined): RecordDocument {
  const { delta, ...rest } = record ?? pinned(null);
  return { ...rest, delta: deltaToDocument(delta), gone: record === undefined };
}

function keyOf({ userId, agentId }: UserPlace): string {
  return `${userId}/${agentId}`;
}

export async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  }
}

/** Nothing for a name that is not one of ours, such as of a folder that an operator put there. */
export function parsed<T>(parse: (text: string) => T, name: string): T[] {
  try {
    return [parse(name)];
  } catch {
    return [];
  }
}
