import { type AgentId, type LayeredSkillId, SecboxError } from '@secbox/contracts';
import type { UnpackedSkill } from '@secbox/skill-archive';
import { isOwn } from './skill-list.js';
import type { SkillTrash } from './skill-trash.js';
import type { Generations, SkillChange } from './store/generations.js';
import type { BaselinePlace, SkillPlace, UserPlace } from './store/layer-paths.js';
import type { LayerStores } from './store/layer-stores.js';
import type { SkillViews } from './store/skill-views.js';
import { type Conflict, mergeTrees } from './tree/merge.js';
import { emptyTree, type FileEntry, type Tree, treeOf, versionOf } from './tree/tree.js';

export interface Baselined {
  readonly version: string;
  /** What was current before; equal to `version` where nothing was to be done. */
  readonly previous: string | null;
}

export interface Synced {
  readonly version: string | null;
  readonly previous: string | null;
  /** Each file that both changed; it is still the user's, and the other one is in the version. */
  readonly conflicts: readonly Conflict[];
}

export interface SyncOptions {
  /** What becomes of the user's changes: they are kept, or go to the trash. */
  readonly keep?: 'mine' | 'theirs';
}

/** What passes between baselines and users: publishing, taking over, uploading. */
export class Baselining {
  readonly #stores: LayerStores;
  readonly #views: SkillViews;
  readonly #generations: Generations;
  readonly #trash: SkillTrash;

  constructor(stores: LayerStores, views: SkillViews, generations: Generations, trash: SkillTrash) {
    this.#stores = stores;
    this.#views = views;
    this.#generations = generations;
    this.#trash = trash;
  }

  /** Makes what the user sees the new baseline; refused when the baseline moved on since, unless forced. */
  async baseline(place: SkillPlace, by: string | null, force = false): Promise<Baselined> {
    const { baselines, now } = this.#stores;
    return this.#views.writing(place, async () => {
      const view = await this.#views.get(place);
      const previous = (await baselines.current(place.agentId)).get(place.skillId)?.version ?? null;
      if (previous !== view.record.pin && previous !== versionOf(view.tree) && !force) {
        throw moved(place, view.record.pin, previous);
      }
      const placed = [...view.tree.files].map(([path, { executable }]) => ({
        path,
        from: this.#views.locate(view, path),
        executable,
        by: 'link' as const,
      }));
      const version = await baselines.add(
        place,
        view.tree,
        { placed },
        { at: now(), by, origin: 'baseline' },
      );
      if (version !== previous) await baselines.point(place, version, now(), by);
      await this.#generations.reset(place, view, version);
      return { version, previous };
    });
  }

  /** Takes the current baseline over, with the user's changes on top of it. */
  async sync(place: SkillPlace, { keep = 'mine' }: SyncOptions = {}): Promise<Synced> {
    return this.#views.writing(place, async () => {
      const record = (await this.#views.records(place)).get(place.skillId);
      const version =
        (await this.#stores.baselines.current(place.agentId)).get(place.skillId)?.version ?? null;
      if (!record) throw notFound(place);
      const view = record.absent ? undefined : await this.#views.of(place, record);
      const previous = record.pin;
      if (!view || keep === 'theirs') {
        if (view && version === null && previous === null) throw noBaseline(place);
        if (view && isOwn(record)) await this.#trash.add(view, 'synced');
        await this.#trash.trim(place);
        await this.#generations.reset(place, view, version);
        return { version, previous, conflicts: [] };
      }
      if (version === previous) return { version, previous, conflicts: [] };
      const base = await this.#views.pinnedTree(place, record);
      const coming = version === null ? emptyTree : await this.#stores.baselines.tree(place, version);
      const { tree, conflicts } = mergeTrees(base, view.tree, coming);
      if (version === null && tree.files.size === 0) await this.#generations.reset(place, view, null);
      else await this.#generations.store(place, view, { tree, pin: version });
      return { version, previous, conflicts };
    });
  }

  /** Puts uploaded skills in the place of the user's, whole: nothing of what was there, or is below, is seen. */
  async uploadOverlays(user: UserPlace, skills: readonly UnpackedSkill[]): Promise<void> {
    const adopted = await this.#adoptAll(skills);
    await this.#views.writing(user, async () => {
      const records = await this.#views.records(user);
      const changes: SkillChange[] = [];
      for (const { skillId, folder: staged, tree } of adopted) {
        const place = { ...user, skillId };
        const record = records.get(skillId);
        const before = record && !record.absent ? await this.#views.of(place, record) : undefined;
        const next = { tree, pin: record?.pin ?? null, opaque: true, staged };
        changes.push({ place, before, next });
      }
      await this.#generations.storeAll(user, changes);
    });
  }

  /** Makes uploaded skills baselines. What fails before all are there leaves versions that are not current, and no more. */
  async uploadBaselines(
    agentId: AgentId,
    skills: readonly UnpackedSkill[],
    by: string | null,
  ): Promise<ReadonlyMap<LayeredSkillId, Baselined>> {
    const { baselines, locks, now } = this.#stores;
    const adopted = await this.#adoptAll(skills);
    return locks.alone(agentId, async () => {
      const current = await baselines.current(agentId);
      const taken = new Map<LayeredSkillId, Baselined>();
      const at = now();
      for (const { skillId, folder: staged, tree } of adopted) {
        const version = await baselines.add(
          { agentId, skillId },
          tree,
          { staged },
          { at, by, origin: 'upload' },
        );
        taken.set(skillId, { version, previous: current.get(skillId)?.version ?? null });
      }
      const moved = [...taken].filter(([, { version, previous }]) => version !== previous);
      const versions = new Map(moved.map(([skillId, { version }]) => [skillId, version]));
      if (versions.size > 0) await baselines.pointAll(agentId, versions, at, by);
      return taken;
    });
  }

  /** Makes an older version current again. */
  async restore(place: BaselinePlace, version: string, by: string | null): Promise<Baselined> {
    const { baselines, locks, now } = this.#stores;
    return locks.alone(place.agentId, async () => {
      await baselines.tree(place, version);
      const previous = (await baselines.current(place.agentId)).get(place.skillId)?.version ?? null;
      if (version !== previous) await baselines.point(place, version, now(), by);
      return { version, previous };
    });
  }

  /** Takes the skill out of the baseline; whoever has it keeps the version they have. */
  async withdraw(place: BaselinePlace, by: string | null): Promise<void> {
    const { baselines, locks, now } = this.#stores;
    await locks.alone(place.agentId, async () => {
      if (!(await baselines.current(place.agentId)).has(place.skillId)) throw notFound(place);
      await baselines.point(place, null, now(), by);
    });
  }

  /** Before any lock is taken: it may be much. */
  async #adoptAll(skills: readonly UnpackedSkill[]) {
    const adopted: (Pick<UnpackedSkill, 'skillId' | 'folder'> & { readonly tree: Tree })[] = [];
    for (const skill of skills) adopted.push({ ...skill, tree: await this.#adopt(skill) });
    return adopted;
  }

  async #adopt({ folder, files, folders }: UnpackedSkill): Promise<Tree> {
    await this.#stores.files.adoptTree(
      folder,
      files.map(({ path }) => path),
      folders,
    );
    const entries = files.map(({ path, sha256, bytes, executable }): [string, FileEntry] => [
      path,
      { sha256, bytes, executable },
    ]);
    return treeOf(new Map(entries), folders);
  }
}

function notFound({ skillId }: BaselinePlace): SecboxError {
  return new SecboxError('skill_not_found', `There is no skill ${skillId}.`, { details: { skillId } });
}

function noBaseline({ skillId }: BaselinePlace): SecboxError {
  return new SecboxError('skill_version_not_found', `The skill ${skillId} has no baseline to take over.`, {
    details: { skillId },
  });
}

function moved({ skillId }: SkillPlace, pin: string | null, current: string | null): SecboxError {
  return new SecboxError(
    'baseline_moved',
    `The baseline of ${skillId} has moved on since you took it over. Sync first, or force it.`,
    { details: { skillId, pinned_version: pin, current_version: current } },
  );
}
