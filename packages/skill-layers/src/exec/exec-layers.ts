import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type ExecId, SecboxError } from '@secbox/contracts';
import type { GlobalPack } from '../files/global-pack.js';
import type { ReadableSkill } from '../files/readable-skill.js';
import type { Generations } from '../store/generations.js';
import { globalPackId, type SkillPlace } from '../store/layer-paths.js';
import type { LayerStores } from '../store/layer-stores.js';
import type { SkillView, SkillViews } from '../store/skill-views.js';
import { namesIn, type SkillRecord } from '../store/user-records.js';
import { type Changes, changesBetween } from '../tree/changes.js';
import { hides, isEmptyDelta } from '../tree/delta.js';
import { type Conflict, mergeTrees } from '../tree/merge.js';
import { emptyTree, sameTree, type Tree, versionOf } from '../tree/tree.js';
import { CopyRoad } from './copy-road.js';
import type { FindingLimits } from './exec-findings.js';
import type { ExecBase, ExecPlaces, ExecRoad, HostMounts, SkippedEntry } from './exec-road.js';
import { OverlayRoad } from './overlay-road.js';

export interface BeginOptions {
  /** Where an overlay is laid instead of in a folder of the exec's own. */
  readonly wanted?: string;
  /** A folder that is not there yet, in one that is: what the exec writes lies in it. */
  readonly room?: string;
  /** Whether the kernel lays folders over each other where it can, or a copy is made in any case. */
  readonly road?: ExecRoad['name'];
}

export interface CommitOptions {
  /** Where whoever waits for the effects is not to wait for the clearing up, it is handed over to this. */
  readonly later?: (clearingUp: Promise<void>) => void;
  /** Aborted when what the exec left has been looked through for long enough: then nothing of it is kept. */
  readonly stop?: AbortSignal;
}

export interface ExecLayersOptions {
  readonly stores: LayerStores;
  readonly views: SkillViews;
  readonly generations: Generations;
  readonly pack: GlobalPack;
  /** Undefined where nothing lays folders over each other: execs then get copies. */
  readonly mounts: HostMounts | undefined;
  readonly limits: FindingLimits;
}

/** Which files a skill is at one moment: the hash of all of them, and the topmost layer that they came from. */
export interface SkillIdentity {
  readonly skill_version: string;
  readonly skill_source: 'global' | 'baseline' | `overlay:${number}`;
}

/** What an exec is given, for its plan and its audit row. */
export interface BegunExec extends SkillIdentity {
  /** To be mounted as the work folder. */
  readonly target: string;
  readonly road: ExecRoad['name'];
}

/** What an exec did to its skill. */
export interface ExecEffects extends Changes {
  /** Whether it is in the user's overlay now: a global pack stays as it is, and too much is not kept. */
  readonly kept: boolean;
  readonly reason: string | null;
  /** What both it and somebody else changed meanwhile; its own lies beside. */
  readonly conflicts: readonly Conflict[];
  readonly skipped: readonly SkippedEntry[];
}

interface Under {
  readonly place: SkillPlace;
  readonly base: ExecBase;
  /** Undefined for the global pack. */
  readonly record: SkillRecord | undefined;
  readonly release: () => void;
}

interface UnderWay extends Under {
  readonly road: ExecRoad;
  readonly places: ExecPlaces;
  readonly target: string;
}

const longestName = 255;
const tookTooLong = 'It took too long to look through what the exec left; none of its changes are kept.';
const packStays = 'A global tool pack stays as it is.';

/** Gives execs a skill to write in, and takes over what they did. No lock is held while they run. */
export class ExecLayers {
  readonly #stores: LayerStores;
  readonly #views: SkillViews;
  readonly #generations: Generations;
  readonly #pack: GlobalPack;
  readonly #overlay: ExecRoad | undefined;
  readonly #copy: ExecRoad;
  readonly #limits: FindingLimits;
  readonly #underWay = new Map<ExecId, UnderWay>();
  readonly #wholes = new Map<string, Promise<void>>();
  readonly #versions = new WeakMap<Tree, string>();

  constructor({ stores, views, generations, pack, mounts, limits }: ExecLayersOptions) {
    this.#stores = stores;
    this.#views = views;
    this.#generations = generations;
    this.#pack = pack;
    this.#overlay = mounts && new OverlayRoad(stores, mounts, limits);
    this.#copy = new CopyRoad(stores, limits);
    this.#limits = limits;
  }

  async begin(place: SkillPlace, execId: ExecId, options: BeginOptions = {}): Promise<BegunExec> {
    if (this.#underWay.has(execId)) throw new SecboxError('internal_error', 'The exec has a skill already.');
    const road = (options.road === 'copy' ? undefined : this.#overlay) ?? this.#copy;
    const { under, source } = await this.#views.reading(place, () => this.#freeze(place, road.name));
    const folder = this.#stores.paths.exec(execId);
    const places = { folder, room: options.room ?? folder };
    try {
      // What takes microseconds is done at once: a thread for it costs ten times as much.
      mkdirSync(folder, { mode: 0o755 });
      if (places.room !== folder) mkdirSync(places.room, { mode: 0o755 });
      const base = under.base.lowers.length > 0 ? under.base : withNothingBelow(folder, under.base);
      const target = await road.begin(places, base, options.wanted);
      this.#underWay.set(execId, { ...under, road, places, target });
      const version = this.#versionOf(under.base.skill.tree);
      return { target, road: road.name, skill_version: version, skill_source: source };
    } catch (error) {
      under.release();
      await this.#remove(road, places);
      throw error;
    }
  }

  /** What an exec that began now would be given. Nothing keeps the skill from becoming another. */
  async identify(place: SkillPlace): Promise<SkillIdentity> {
    return this.#views.reading(place, async () => {
      const pack = await this.#packFor(place);
      if (pack) return { skill_version: this.#versionOf(pack.tree), skill_source: 'global' };
      const { tree, record } = await this.#views.get(place);
      return { skill_version: this.#versionOf(tree), skill_source: sourceOf(record) };
    });
  }

  /** When nothing of the exec can write any more. Its changes are taken over whole, or not at all. */
  async commit(execId: ExecId, { later, stop }: CommitOptions = {}): Promise<ExecEffects> {
    const under = this.#underWay.get(execId);
    if (!under) throw new SecboxError('internal_error', 'The exec has no skill to commit.');
    // What it did is kept, or not, whatever becomes of its folders.
    const clearUp = () => this.abandon(execId).catch(this.#stores.failed);
    try {
      return await this.#takeOver(execId, under, stop);
    } finally {
      if (later) later(afterTheAnswer().then(clearUp));
      else await clearUp();
    }
  }

  /** Nothing of it is kept. Fine when there is none. */
  async abandon(execId: ExecId): Promise<void> {
    const under = this.#underWay.get(execId);
    if (!under) return;
    this.#underWay.delete(execId);
    try {
      await this.#remove(under.road, under.places, under.target);
    } finally {
      under.release();
    }
  }

  /** Whether an exec of that user is under way. */
  isBusy({ userId, agentId }: Omit<SkillPlace, 'skillId'>): boolean {
    return [...this.#underWay.values()].some(
      ({ place }) => place.userId === userId && place.agentId === agentId,
    );
  }

  /** Removes what a server before this one left. Its containers must be gone. */
  async recover(): Promise<void> {
    for (const name of await namesIn(this.#stores.paths.execs)) {
      const folder = this.#stores.paths.exec(name as ExecId);
      const road = this.#overlay ?? this.#copy;
      if (!this.#underWay.has(name as ExecId)) await this.#remove(road, { folder, room: folder });
    }
  }

  /** Trees are known as long as nothing changes. */
  #versionOf(tree: Tree): string {
    const version = this.#versions.get(tree) ?? versionOf(tree);
    this.#versions.set(tree, version);
    return version;
  }

  async #remove(road: ExecRoad, { folder, room }: ExecPlaces, target?: string): Promise<void> {
    await road.end(folder, target);
    if (room !== folder) await this.#stores.files.removeTree(room);
    await this.#stores.files.removeTree(folder);
  }

  async #takeOver(
    execId: ExecId,
    { place, base, record, ...under }: UnderWay,
    stop?: AbortSignal,
  ): Promise<ExecEffects> {
    const before = base.skill.tree;
    const nothing = { added: [], changed: [], deleted: [], conflicts: [], skipped: [], kept: false };
    const collecting = under.road.collect(under.places, base, under.target, stop);
    const found = await collecting.catch((error: unknown) => {
      if (error instanceof SecboxError && error.code === 'file_too_large') return error.message;
      if (stop?.aborted) return tookTooLong;
      throw error;
    });
    if (typeof found === 'string') return { ...nothing, reason: found };
    if (found.tree === before) {
      const reason = record ? null : packStays;
      return { ...nothing, kept: record !== undefined, reason };
    }
    const changes = { ...changesBetween(before, found.tree), skipped: found.skipped };
    const { entries, skillBytes } = this.#limits;
    const [is, was] = [bytesOf(found.tree), bytesOf(before)];
    if ((is > skillBytes && is > was) || (found.tree.files.size > entries && changes.added.length > 0)) {
      const reason = `The skill would have more than ${skillBytes} bytes or ${entries} files; it stays as it was.`;
      return { ...nothing, ...changes, reason };
    }
    if (!record) return { ...nothing, ...changes, reason: packStays };
    if (sameTree(before, found.tree)) return { ...nothing, ...changes, kept: true, reason: null };
    const merging = this.#views.writing(place, async () => {
      const now = (await this.#views.records(place)).get(place.skillId);
      const view = now && !now.absent ? await this.#views.of(place, now) : undefined;
      const here = view?.tree ?? emptyTree;
      const merge =
        now === record
          ? { tree: found.tree, conflicts: [] }
          : mergeTrees(before, here, found.tree, (path, taken) => nameBeside(path, execId, taken));
      if (!sameTree(merge.tree, here)) await this.#store(place, view, now, merge.tree, found.contents);
      return merge.conflicts;
    });
    const conflicts = await merging.catch((error: unknown) => {
      if (error instanceof SecboxError && error.code === 'storage_full') return error.message;
      throw error;
    });
    if (typeof conflicts === 'string') return { ...nothing, ...changes, reason: conflicts };
    return { ...changes, conflicts, kept: true, reason: null };
  }

  async #store(
    place: SkillPlace,
    view: SkillView | undefined,
    now: SkillRecord | undefined,
    tree: Tree,
    contents: NonNullable<Parameters<Generations['store']>[2]['contents']>,
  ): Promise<void> {
    const opaque = view ? view.record.opaque : now !== undefined;
    await this.#generations.store(place, view, { tree, pin: now?.pin ?? null, opaque, contents });
  }

  async #freeze(
    place: SkillPlace,
    road: ExecRoad['name'],
  ): Promise<{ under: Under; source: SkillIdentity['skill_source'] }> {
    const pack = await this.#packFor(place);
    if (pack) {
      const base = { skill: pack, lowers: [this.#pack.folder] };
      return { under: { place, base, record: undefined, release: () => undefined }, source: 'global' };
    }
    const view = await this.#views.get(place);
    const { record, tree } = view;
    const lowers = await this.#lowersOf(view, road);
    const { paths, holds } = this.#stores;
    const version = record.pin === null ? [] : [paths.version(place, record.pin)];
    // Also what is not mounted: a copy is made from it.
    const release = holds.hold([paths.generation(place, record.generation), ...version, ...lowers]);
    const skill: ReadableSkill = { tree, locate: (path) => this.#views.locate(view, path) };
    return { under: { place, base: { skill, lowers }, record, release }, source: sourceOf(record) };
  }

  /** The tool pack, where the place is that of one. */
  async #packFor({ skillId }: SkillPlace): Promise<ReadableSkill | undefined> {
    return skillId === globalPackId ? this.#pack.read() : undefined;
  }

  /** A deletion is a mark of ours, which the kernel does not know: then it is shown the whole, of links. */
  async #lowersOf(view: SkillView, road: ExecRoad['name']): Promise<string[]> {
    const { paths } = this.#stores;
    const { place, record } = view;
    const { added } = record.delta;
    const own = added.files.size + added.folders.size > 0 ? [paths.generation(place, record.generation)] : [];
    if (record.opaque || record.pin === null) return own;
    if (road === 'copy' || !hides(record.delta)) return [...own, paths.version(place, record.pin)];
    const whole = paths.wholeGeneration(place, record.generation);
    const making = this.#wholes.get(whole) ?? this.#makeWhole(view, whole);
    this.#wholes.set(whole, making);
    try {
      await making;
    } finally {
      this.#wholes.delete(whole);
    }
    return [whole];
  }

  async #makeWhole(view: SkillView, whole: string): Promise<void> {
    const { files, paths } = this.#stores;
    const name = whole.slice(whole.lastIndexOf('/') + 1);
    if ((await namesIn(paths.skill(view.place))).includes(name)) return;
    const placed = [...view.tree.files].map(([path, { executable }]) => ({
      path,
      from: this.#views.locate(view, path),
      executable,
      by: 'link' as const,
    }));
    await files.ensureFolder(paths.skill(view.place));
    await files.makeTree(`${whole}.making`, placed, [...view.tree.folders]);
    await files.moveTree(`${whole}.making`, whole);
  }
}

function sourceOf({ delta, generation }: SkillRecord): SkillIdentity['skill_source'] {
  return isEmptyDelta(delta) ? 'baseline' : `overlay:${generation}`;
}

/** Nothing can be laid over nothing. */
function withNothingBelow(folder: string, base: ExecBase): ExecBase {
  const nothing = join(folder, 'nothing');
  mkdirSync(nothing, { mode: 0o755 });
  return { ...base, lowers: [nothing] };
}

function nameBeside(path: string, execId: ExecId, taken: (path: string) => boolean): string {
  const at = path.lastIndexOf('/') + 1;
  const [folder, name] = [path.slice(0, at), path.slice(at)];
  for (let n = 1; ; n += 1) {
    const mark = `conflict-${execId.slice(0, 8)}${n === 1 ? '' : `-${n}`}`;
    const marked = `${name}.${mark}`;
    const beside = folder + (Buffer.byteLength(marked) > longestName ? mark : marked);
    if (!taken(beside)) return beside;
  }
}

function bytesOf({ files }: Tree): number {
  let sum = 0;
  for (const { bytes } of files.values()) sum += bytes;
  return sum;
}

const answerMs = 25;

async function afterTheAnswer(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, answerMs));
}
