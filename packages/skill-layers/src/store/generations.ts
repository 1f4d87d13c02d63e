import { rm } from 'node:fs/promises';
import { SecboxError } from '@secbox/contracts';
import { type Delta, deltaOf, emptyDelta, isEmptyDelta } from '../tree/delta.js';
import { emptyTree, type FileEntry, sameFile, sameTree, type Tree } from '../tree/tree.js';
import type { PlacedFile } from './durable-files.js';
import type { SkillPlace, UserPlace } from './layer-paths.js';
import type { LayerStores } from './layer-stores.js';
import type { SkillView, SkillViews } from './skill-views.js';
import { pinned, type SkillRecord } from './user-records.js';

/** What a skill is to become. */
export interface NextTree {
  readonly tree: Tree;
  readonly pin: string | null;
  /** Nothing of the baseline is to shine through. */
  readonly opaque?: boolean;
  /** New contents, by their hash: files of ours with their final owner, which are linked. */
  readonly contents?: ReadonlyMap<string, NewContent>;
  /** A folder that already is what the generation will be, and takes its place whole. */
  readonly staged?: string;
}

/** What one skill is to become; `before` is what the user has now. */
export interface SkillChange {
  readonly place: SkillPlace;
  readonly before: SkillView | undefined;
  readonly next: NextTree;
}

export interface NewContent {
  /** Whether it would survive a power cut already. */
  readonly isSynced: boolean;
  readonly path: string;
  readonly executable: boolean;
}

/**
 * Changes of skills. A generation is a folder with what differs from the baseline; it is never written again once it is
 * there. Each change makes the next one, of links to what stays, and takes effect with the record that names it.
 */
export class Generations {
  readonly #stores: LayerStores;
  readonly #views: SkillViews;
  /** A number is used once while this process lives: a folder of an older one may still be mounted, or going. */
  readonly #last = new Map<string, number>();

  constructor(stores: LayerStores, views: SkillViews) {
    this.#stores = stores;
    this.#views = views;
  }

  /** Under the agent's lock, alone. `before` is what the user has now. */
  async store(place: SkillPlace, before: SkillView | undefined, next: NextTree): Promise<SkillRecord> {
    const change = { place, before, next };
    const record = await this.#recordOf(change);
    await this.#putAll(place, [{ ...change, record }]);
    return record;
  }

  /** As {@link store}, of several skills of one user: all of them at one moment, or none. */
  async storeAll(user: UserPlace, changes: readonly SkillChange[]): Promise<void> {
    const recorded: RecordedChange[] = [];
    for (const change of changes) recorded.push({ ...change, record: await this.#recordOf(change) });
    await this.#putAll(user, recorded);
  }

  /** Nothing but the pin is left. */
  async reset(place: SkillPlace, before: SkillView | undefined, pin: string | null): Promise<void> {
    await this.#stores.users.put(place, place.skillId, pin === null ? undefined : pinned(pin));
    this.#retire(before);
  }

  /** The user has it no more; a baseline of it does not come back by itself. */
  async remove(before: SkillView): Promise<void> {
    const { pin } = before.record;
    const record = pin === null ? undefined : { ...pinned(pin), delta: emptyDelta, absent: true };
    await this.#stores.users.put(before.place, before.place.skillId, record);
    this.#retire(before);
  }

  async #recordOf({ place, before, next }: SkillChange): Promise<SkillRecord> {
    const { pin } = next;
    const pinTree = pin === null ? emptyTree : await this.#stores.baselines.tree(place, pin);
    const opaque = next.opaque === true && !sameTree(pinTree, next.tree);
    const delta = deltaOf(opaque ? emptyTree : pinTree, next.tree);
    return { pin, generation: this.#next(place, before), delta, opaque, absent: false };
  }

  async #putAll(user: UserPlace, changes: readonly RecordedChange[]): Promise<void> {
    const { room, files, users } = this.#stores;
    const records = new Map(changes.map(({ place, record }) => [place.skillId, record]));
    await room.assert(user, new Map(changes.map(({ place, record }) => [place.skillId, record.delta])));
    const toSync: string[] = [];
    for (const change of changes) toSync.push(...(await this.#lay(change)));
    await users.putAll(user, records, () => files.sync(toSync));
    for (const { before } of changes) this.#retire(before);
  }

  /** Makes the folder of a generation, which nobody sees yet; gives what is to be synced. */
  async #lay({ place, before, next, record }: RecordedChange): Promise<string[]> {
    const { paths, files } = this.#stores;
    const { generation, delta, opaque } = record;
    const fresh = [...(next.contents?.values() ?? [])].filter(({ isSynced }) => !isSynced);
    const toSync = fresh.map(({ path }) => path);
    if (delta.added.files.size + delta.added.folders.size > 0) {
      const folder = paths.generation(place, generation);
      await files.ensureFolder(paths.skill(place));
      toSync.push(paths.skill(place));
      if (next.staged !== undefined && opaque) await files.moveTree(next.staged, folder);
      else
        toSync.push(
          ...(await files.placeTree(folder, this.#placed(delta, before, next), [...delta.added.folders])),
        );
    }
    // Of an earlier life of this number, if a crash left one.
    await rm(paths.wholeGeneration(place, generation), { recursive: true, force: true });
    return toSync;
  }

  #next(place: SkillPlace, before: SkillView | undefined): number {
    const key = this.#stores.paths.skill(place);
    const generation = Math.max(this.#last.get(key) ?? 0, before?.record.generation ?? 0) + 1;
    this.#last.set(key, generation);
    return generation;
  }

  #retire(before: SkillView | undefined): void {
    if (!before || isEmptyDelta(before.record.delta)) return;
    const { paths, holds, files } = this.#stores;
    const { place, record } = before;
    for (const folder of [
      paths.generation(place, record.generation),
      paths.wholeGeneration(place, record.generation),
    ]) {
      holds.retire(folder, () => files.removeTree(folder));
    }
  }

  #placed({ added }: Delta, before: SkillView | undefined, { contents }: NextTree): PlacedFile[] {
    const known = new KnownContents(before);
    return [...added.files].map(([path, entry]): PlacedFile => {
      const { executable } = entry;
      const fresh = contents?.get(entry.sha256);
      if (fresh)
        return { path, from: fresh.path, executable, by: fresh.executable === executable ? 'link' : 'copy' };
      const found = known.find(path, entry);
      if (!before || !found) {
        throw new SecboxError('internal_error', `The content of ${path} is nowhere to be found.`);
      }
      return {
        path,
        from: this.#views.locate(before, found.path),
        executable,
        by: found.same ? 'link' : 'copy',
      };
    });
  }
}

type RecordedChange = SkillChange & { readonly record: SkillRecord };

/** Where in a view a content is: best at the path itself, else anywhere. */
class KnownContents {
  readonly #view: SkillView | undefined;
  #byHash: Map<string, { readonly path: string; readonly executable: boolean }> | undefined;

  constructor(view: SkillView | undefined) {
    this.#view = view;
  }

  find(path: string, entry: FileEntry): { readonly path: string; readonly same: boolean } | undefined {
    if (!this.#view) return undefined;
    if (sameFile(this.#view.tree.files.get(path), entry)) return { path, same: true };
    this.#byHash ??= new Map(
      [...this.#view.tree.files].map(([at, { sha256, executable }]) => [sha256, { path: at, executable }]),
    );
    const found = this.#byHash.get(entry.sha256);
    return found && { path: found.path, same: found.executable === entry.executable };
  }
}
