import { join } from 'node:path';
import { type LayeredSkillId, SecboxError } from '@secbox/contracts';
import { applyDelta } from '../tree/delta.js';
import { emptyTree, type Tree } from '../tree/tree.js';
import type { SkillPlace, UserPlace } from './layer-paths.js';
import type { LayerStores } from './layer-stores.js';
import { pinned, type SkillRecord } from './user-records.js';

/** A skill as one user sees it. */
export interface SkillView {
  readonly place: SkillPlace;
  readonly record: SkillRecord;
  readonly tree: Tree;
}

/** Brings pins, overlays and versions together. Views are made under the agent's lock, and valid while it is held. */
export class SkillViews {
  readonly #stores: LayerStores;
  readonly #trees = new WeakMap<SkillRecord, Tree>();

  constructor(stores: LayerStores) {
    this.#stores = stores;
  }

  /** With the agent's lock shared, for a user whose pins are written down, or who is only looked at. */
  async reading<T>(user: UserPlace, work: () => Promise<T>): Promise<T> {
    const { locks, users, now } = this.#stores;
    if (user.onlyLooks) return locks.shared(user.agentId, work);
    for (;;) {
      const read = await locks.shared(user.agentId, async () => {
        // Looked at under the lock: whoever had it before may have cleaned this user away.
        if ((await this.#unpinned(user)).size > 0) return undefined;
        const answer = await work();
        if (await users.find(user)) await users.touch(user, now());
        return { answer };
      });
      if (read) return read.answer;
      await locks.alone(user.agentId, () => this.#pin(user, false));
    }
  }

  /** With the agent's lock alone. */
  async writing<T>(user: UserPlace, work: () => Promise<T>): Promise<T> {
    return this.#stores.locks.alone(user.agentId, async () => {
      await this.#pin(user, true);
      const answer = await work();
      await this.#stores.users.touch(user, this.#stores.now());
      return answer;
    });
  }

  /** Who only looks sees what a first use would pin. */
  async records(user: UserPlace): Promise<ReadonlyMap<LayeredSkillId, SkillRecord>> {
    const recorded = await this.#recorded(user);
    if (!user.onlyLooks) return recorded;
    const pins = [...(await this.#unpinned(user))];
    return new Map([...recorded, ...pins.map(([skillId, version]) => [skillId, pinned(version)] as const)]);
  }

  /** Undefined for a skill that the user does not have, or has deleted. */
  async find(place: SkillPlace): Promise<SkillView | undefined> {
    const record = (await this.records(place)).get(place.skillId);
    return record && !record.absent ? this.of(place, record) : undefined;
  }

  async get(place: SkillPlace): Promise<SkillView> {
    const view = await this.find(place);
    if (view) return view;
    throw new SecboxError('skill_not_found', `There is no skill ${place.skillId}.`, {
      details: { skillId: place.skillId },
    });
  }

  async of(place: SkillPlace, record: SkillRecord): Promise<SkillView> {
    const known = this.#trees.get(record);
    if (known) return { place, record, tree: known };
    const tree = applyDelta(record.opaque ? emptyTree : await this.pinnedTree(place, record), record.delta);
    this.#trees.set(record, tree);
    return { place, record, tree };
  }

  /** What the baseline had when the user last took it over. */
  async pinnedTree(place: SkillPlace, { pin }: SkillRecord): Promise<Tree> {
    return pin === null ? emptyTree : this.#stores.baselines.tree(place, pin);
  }

  /** The host's path of a file of the view. */
  locate({ place, record }: SkillView, path: string): string {
    const { paths } = this.#stores;
    if (record.opaque || record.pin === null || record.delta.added.files.has(path)) {
      return join(paths.generation(place, record.generation), path);
    }
    return join(paths.version(place, record.pin), path);
  }

  async #recorded(user: UserPlace): Promise<ReadonlyMap<LayeredSkillId, SkillRecord>> {
    return (await this.#stores.users.find(user))?.skills ?? new Map<LayeredSkillId, SkillRecord>();
  }

  async #unpinned(user: UserPlace): Promise<Map<LayeredSkillId, string>> {
    const skills = await this.#recorded(user);
    const current = await this.#stores.baselines.current(user.agentId);
    const missing = [...current].filter(([skillId]) => !skills.has(skillId));
    return new Map(missing.map(([skillId, { version }]) => [skillId, version]));
  }

  /** For someone who writes also when there is nothing to pin: that they were here is what a record hangs on. */
  async #pin(user: UserPlace, evenNothing: boolean): Promise<void> {
    const missing = await this.#unpinned(user);
    const isNew = evenNothing && !(await this.#stores.users.find(user));
    if (missing.size > 0 || isNew) await this.#stores.users.pin(user, missing);
  }
}
