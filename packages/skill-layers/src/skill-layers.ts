import { join } from 'node:path';
import { type ExecId, type LayeredSkillId, SecboxError } from '@secbox/contracts';
import { type ArchiveLimits, type SkillMetadata, unpackSkills } from '@secbox/skill-archive';
import {
  type LineRange,
  readLines,
  type SearchAnswer,
  type SearchQuery,
  searchText,
  textOf,
} from '@secbox/workspace';
import { type Baselined, Baselining, type Synced, type SyncOptions } from './baselining.js';
import { defaultFindingLimits } from './exec/exec-findings.js';
import {
  type BeginOptions,
  type BegunExec,
  type CommitOptions,
  type ExecEffects,
  ExecLayers,
} from './exec/exec-layers.js';
import { SandboxHolds } from './exec/sandbox-holds.js';
import { GlobalPack } from './files/global-pack.js';
import {
  bytesOf,
  contentAt,
  entryAt,
  type FileListing,
  listingOf,
  openAt,
  type OpenFile,
  pathOf,
  type ReadableSkill,
  searchedFiles,
} from './files/readable-skill.js';
import {
  type ChangedFile,
  largestText,
  type Precondition,
  SkillFiles,
  type WriteOptions,
} from './files/skill-files.js';
import type { SkillLayersOptions } from './layers-options.js';
import { type ListedSkill, packId, packStatus, SkillList } from './skill-list.js';
import { type SkillStatus, statusOf } from './skill-status.js';
import { SkillTrash, type TrashedItem } from './skill-trash.js';
import { type VersionRecord } from './store/baseline-store.js';
import { Generations } from './store/generations.js';
import type { BaselinePlace, SkillPlace, UserPlace } from './store/layer-paths.js';
import { LayerStores } from './store/layer-stores.js';
import { SkillViews } from './store/skill-views.js';
import { type CleanedUp, type Collected, type IdleOptions, Upkeep } from './upkeep.js';
import type { UploadedSkill, UploadOptions } from './upload.js';
import { type DiffSide, diffSkills, type SkillDiff } from './versions.js';

/** Skills as files: versions of baselines below, what each user made of them above. */
export class SkillLayers {
  readonly #stores: LayerStores;
  readonly #views: SkillViews;
  readonly #files: SkillFiles;
  readonly #generations: Generations;
  readonly #baselining: Baselining;
  readonly #execs: ExecLayers;
  readonly #sandboxes = new SandboxHolds();
  readonly #trash: SkillTrash;
  readonly #upkeep: Upkeep;
  readonly #pack: GlobalPack;
  readonly #list: SkillList;
  readonly #archiveLimits: ArchiveLimits | undefined;

  private constructor({ mounts, execLimits, archiveLimits, globalPack, ...options }: SkillLayersOptions) {
    const stores = new LayerStores(options);
    const views = new SkillViews(stores);
    this.#stores = stores;
    this.#views = views;
    this.#archiveLimits = archiveLimits;
    this.#generations = new Generations(stores, views);
    this.#pack = new GlobalPack(globalPack ?? stores.paths.globalPack);
    this.#list = new SkillList(stores, views, this.#pack);
    this.#files = new SkillFiles(stores, views, this.#generations);
    this.#trash = new SkillTrash(stores, views, this.#generations, this.#sandboxes);
    this.#baselining = new Baselining(stores, views, this.#generations, this.#trash);
    const parts = { stores, views, generations: this.#generations, pack: this.#pack };
    this.#execs = new ExecLayers({ ...parts, mounts, limits: execLimits ?? defaultFindingLimits });
    const isBusy = (user: UserPlace) => this.#execs.isBusy(user) || this.#sandboxes.isBusy(user);
    this.#upkeep = new Upkeep(stores, views, this.#trash, isBusy);
  }

  /** Also clears up after a server that was killed; one process at a time has a root. */
  static async open(options: SkillLayersOptions): Promise<SkillLayers> {
    const layers = new SkillLayers(options);
    await layers.#stores.prepare();
    await layers.#execs.recover();
    await layers.#stores.files.removeTree(layers.#stores.paths.staging);
    await layers.#stores.prepare();
    await layers.#trash.recover();
    return layers;
  }

  /** Waits for what is being removed. */
  close(): Promise<void> {
    return this.#stores.holds.settled();
  }

  /** Says that the user was here, and pins what there is. */
  touch(user: UserPlace): Promise<void> {
    return this.#views.writing(user, () => Promise.resolve());
  }

  /** The folder that callers are told. */
  pathOf(place: SkillPlace): string {
    return this.#stores.paths.skill(place);
  }

  /** The folder that whoever uploads a baseline is told. */
  baselinePathOf(place: BaselinePlace): string {
    return this.#stores.paths.baseline(place);
  }

  sandboxOf(user: UserPlace): string {
    return this.#stores.paths.sandbox(user);
  }

  /** Has the general sandbox there, and not cleaned away, for the time of `work`; who only looks may find none. */
  async withSandbox<T>(user: UserPlace, work: (folder: string) => Promise<T>): Promise<T> {
    const release = await this.holdSandbox(user, 'call');
    try {
      return await work(this.#stores.paths.sandbox(user));
    } finally {
      release();
    }
  }

  list(user: UserPlace): Promise<ListedSkill[]> {
    return this.#views.reading(user, () => this.#list.all(user));
  }

  /** What is the user's own; that somebody asks is no use of it. */
  own(user: UserPlace): Promise<ListedSkill[]> {
    return this.#stores.locks.shared(user.agentId, () => this.#list.own(user));
  }

  /** Of every skill, also of those that the user deleted. */
  statuses(user: UserPlace): Promise<Map<LayeredSkillId, SkillStatus>> {
    return this.#views.reading(user, () => this.#list.statuses(user));
  }

  async status(place: SkillPlace): Promise<SkillStatus> {
    if (place.skillId === packId && (await this.#pack.read())) return packStatus;
    const status = (await this.statuses(place)).get(place.skillId);
    if (status) return status;
    throw new SecboxError('skill_not_found', `There is no skill ${place.skillId}.`);
  }

  files(place: SkillPlace): Promise<FileListing[]> {
    return this.#reading(place, ({ tree }) => Promise.resolve(listingOf(tree)));
  }

  stat(place: SkillPlace, path: string): Promise<FileListing> {
    const at = pathOf(path);
    return this.#reading(place, (skill) => Promise.resolve({ path: at, ...entryAt(skill, at) }));
  }

  /** Whoever gets it closes it. */
  openFile(place: SkillPlace, path: string): Promise<OpenFile> {
    const at = pathOf(path);
    return this.#reading(place, (skill) => openAt(skill, at));
  }

  readText(place: SkillPlace, path: string): Promise<{ readonly text: string; readonly etag: string }> {
    const at = pathOf(path);
    return this.#reading(place, async (skill) => ({
      text: textOf(await contentAt(skill, at, largestText)),
      etag: entryAt(skill, at).sha256,
    }));
  }

  async readLines(
    place: SkillPlace,
    path: string,
    range: LineRange,
  ): Promise<{ readonly lines: string[]; readonly etag: string }> {
    const { handle, entry } = await this.openFile(place, path);
    try {
      const lines = await readLines(bytesOf(handle), range, largestText);
      return { lines: lines.map((line) => textOf(line)), etag: entry.sha256 };
    } finally {
      await handle.close();
    }
  }

  search(place: SkillPlace, query: SearchQuery): Promise<SearchAnswer> {
    return this.#reading(place, (skill) => searchText(searchedFiles(skill), query));
  }

  async writeFile(
    place: SkillPlace,
    path: string,
    content: AsyncIterable<Buffer> | Iterable<Buffer>,
    options?: WriteOptions,
  ): Promise<ChangedFile> {
    await this.#refusePack(place);
    return this.#files.write(place, path, content, options);
  }

  async editFile(
    place: SkillPlace,
    path: string,
    text: string,
    options?: LineRange & Precondition,
  ): Promise<ChangedFile> {
    await this.#refusePack(place);
    return this.#files.edit(place, path, text, options);
  }

  async deleteFile(place: SkillPlace, path: string, precondition?: Precondition): Promise<void> {
    await this.#refusePack(place);
    await this.#files.delete(place, path, precondition);
  }

  async moveFile(place: SkillPlace, from: string, to: string, precondition?: Precondition): Promise<void> {
    await this.#refusePack(place);
    await this.#files.move(place, from, to, precondition);
  }

  /** From the user's view; what was the user's own goes to the trash. */
  async deleteSkill(place: SkillPlace): Promise<void> {
    await this.#refusePack(place);
    await this.#views.writing(place, async () => {
      const view = await this.#views.get(place);
      if (statusOf(view.record, view.record.pin).modified) await this.#trash.add(view, 'deleted');
      await this.#generations.remove(view);
      await this.#trash.trim(place);
    });
  }

  /** A folder for what is being received, removed when `work` is over. */
  withUpload<T>(work: (folder: string) => Promise<T>): Promise<T> {
    return this.#stores.withStaging(work);
  }

  /** Every skill of the archive, all in one step: what is refused, or fails, changes nothing. */
  async upload(user: UserPlace, archive: string, options: UploadOptions): Promise<UploadedSkill[]> {
    return this.#stores.withStaging(async (staging) => {
      const { archiveName, scope, by = null, stop } = options;
      const limits = this.#archiveLimits;
      const { paths } = this.#stores;
      const unpacked = await unpackSkills(archive, join(staging, 'unpacked'), {
        archiveName,
        ...(limits ? { limits } : {}),
        ...(stop ? { stop } : {}),
      });
      const told = unpacked.map(({ skillId, metadata }) => ({
        place: { ...user, skillId },
        names: { skillId, ...metadata },
      }));
      for (const { place } of told) await this.#refusePack(place);
      if (scope === 'overlay') {
        await this.#baselining.uploadOverlays(user, unpacked);
        const none = { version: null, previous: null };
        return told.map(({ place, names }) => ({ ...names, path: paths.skill(place), ...none }));
      }
      const taken = await this.#baselining.uploadBaselines(user.agentId, unpacked, by);
      return told.map(({ place, names }) => ({
        ...names,
        path: paths.baseline(place),
        version: taken.get(place.skillId)?.version ?? null,
        previous: taken.get(place.skillId)?.previous ?? null,
      }));
    });
  }

  async baseline(place: SkillPlace, by: string | null, force?: boolean): Promise<Baselined> {
    await this.#refusePack(place);
    return this.#baselining.baseline(place, by, force);
  }

  async sync(place: SkillPlace, options?: SyncOptions): Promise<Synced> {
    await this.#refusePack(place);
    return this.#baselining.sync(place, options);
  }

  async restoreVersion(place: BaselinePlace, version: string, by: string | null): Promise<Baselined> {
    await this.#refusePack(place);
    return this.#baselining.restore(place, version, by);
  }

  async withdrawBaseline(place: BaselinePlace, by: string | null): Promise<void> {
    await this.#refusePack(place);
    return this.#baselining.withdraw(place, by);
  }

  /** What the current baseline says of itself; undefined where there is none. */
  namesOf(place: BaselinePlace): Promise<SkillMetadata | undefined> {
    return this.#stores.locks.shared(place.agentId, async () => {
      const current = (await this.#stores.baselines.current(place.agentId)).get(place.skillId);
      return current && this.#list.names.of(await this.#version(place, current.version), place.skillId);
    });
  }

  /** Every skill that has, or had, a baseline. */
  baselines(): Promise<BaselinePlace[]> {
    return this.#upkeep.baselines();
  }

  /** Newest first, with a mark on the current one. */
  async versions(place: BaselinePlace): Promise<(VersionRecord & { readonly current: boolean })[]> {
    return this.#stores.locks.shared(place.agentId, async () => {
      const current = (await this.#stores.baselines.current(place.agentId)).get(place.skillId)?.version;
      const versions = await this.#stores.baselines.versions(place);
      return versions.map((version) => ({ ...version, current: version.version === current }));
    });
  }

  diff(place: SkillPlace, from: DiffSide, to: DiffSide): Promise<SkillDiff> {
    return this.#views.reading(place, async () =>
      diffSkills(await this.#side(place, from), await this.#side(place, to)),
    );
  }

  /** What an exec that began now would be given. */
  identify(place: SkillPlace): ReturnType<ExecLayers['identify']> {
    return this.#execs.identify(place);
  }

  beginExec(place: SkillPlace, execId: ExecId, options?: BeginOptions): Promise<BegunExec> {
    return this.#execs.begin(place, execId, options);
  }

  /** Another one whenever an exec, or the trash, may have changed the general sandbox; undefined while an exec is in it. */
  sandboxStamp(user: UserPlace): number | undefined {
    return this.#sandboxes.stampOf(user);
  }

  /** Until what this gives is called. For who only looks it is kept, not made. */
  async holdSandbox(user: UserPlace, by: 'exec' | 'call' = 'exec'): Promise<() => void> {
    const { files, paths, users } = this.#stores;
    if (!user.onlyLooks && !(await users.find(user))) await this.touch(user);
    return this.#views.reading(user, async () => {
      if (!user.onlyLooks) await files.ensureOwnedFolder(paths.sandbox(user));
      return this.#sandboxes.hold(user, by);
    });
  }

  commitExec(execId: ExecId, options?: CommitOptions): Promise<ExecEffects> {
    return this.#execs.commit(execId, options);
  }

  abandonExec(execId: ExecId): Promise<void> {
    return this.#execs.abandon(execId);
  }

  trash(user: UserPlace): Promise<TrashedItem[]> {
    return this.#trash.list(user);
  }

  restoreFromTrash(user: UserPlace, id: string): Promise<TrashedItem> {
    return this.#trash.restore(user, id);
  }

  cleanUpIdle(options?: IdleOptions): Promise<CleanedUp> {
    return this.#upkeep.cleanUpIdle(options);
  }

  collectGarbage(keep?: number): Promise<Collected> {
    return this.#upkeep.collectGarbage(keep);
  }

  #reading<T>(place: SkillPlace, read: (skill: ReadableSkill) => Promise<T>): Promise<T> {
    return this.#views.reading(place, async () => {
      const pack = place.skillId === packId ? await this.#pack.read() : undefined;
      return read(pack ?? this.#readable(await this.#views.get(place)));
    });
  }

  #readable(view: Awaited<ReturnType<SkillViews['get']>>): ReadableSkill {
    return { tree: view.tree, locate: (path) => this.#views.locate(view, path) };
  }

  async #side(place: SkillPlace, side: DiffSide): Promise<ReadableSkill> {
    if (side === 'mine') return this.#readable(await this.#views.get(place));
    const records = await this.#views.records(place);
    const current = (await this.#stores.baselines.current(place.agentId)).get(place.skillId)?.version;
    const named = typeof side === 'object' ? side.version : (records.get(place.skillId)?.pin ?? undefined);
    const version = side === 'current' ? current : named;
    if (version !== undefined) return this.#version(place, version);
    const message = `The skill ${place.skillId} has no baseline to compare with.`;
    throw new SecboxError('skill_version_not_found', message);
  }

  async #version(place: BaselinePlace, version: string): Promise<ReadableSkill> {
    const tree = await this.#stores.baselines.tree(place, version);
    return { tree, locate: (path) => join(this.#stores.paths.version(place, version), path) };
  }

  async #refusePack({ skillId }: BaselinePlace): Promise<void> {
    if (skillId !== packId || !(await this.#pack.read())) return;
    throw new SecboxError('skill_read_only', `${packId} is a tool pack that is the same for everybody.`);
  }
}
