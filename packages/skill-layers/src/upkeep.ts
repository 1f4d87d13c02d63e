import { rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type AgentId, parseAgentId, parseUserId } from '@secbox/contracts';
import { isErrno } from '@secbox/workspace';
import { removeEmpty } from './store/durable-files.js';
import type { SkillTrash } from './skill-trash.js';
import { statusOf } from './skill-status.js';
import type { BaselinePlace, UserPlace } from './store/layer-paths.js';
import type { LayerStores } from './store/layer-stores.js';
import type { SkillViews } from './store/skill-views.js';
import { namesIn, parsed, type SkillRecord } from './store/user-records.js';
import { isEmptyDelta } from './tree/delta.js';

export interface IdleOptions {
  /** Without any use for so long; 24 hours unless said otherwise. */
  readonly idleMs?: number;
  /** How long the trash keeps what they made; 7 days unless said otherwise. */
  readonly trashMs?: number;
  /** Hears of each user before it goes, and is waited for: what fails then leaves the user where it is. */
  readonly onRemove?: (user: UserPlace) => Promise<void>;
  /** Hears of each user that is gone, whatever becomes of the next ones. */
  readonly onRemoved?: (user: UserPlace) => Promise<void>;
}

export interface CleanedUp {
  readonly users: readonly UserPlace[];
  /** Those that were found and stay. */
  readonly left: readonly UserPlace[];
  readonly trashed: number;
  readonly expired: number;
}

export interface Collected {
  readonly versions: number;
  readonly generations: number;
}

const hourMs = 3_600_000;
/** Kept although nobody has them, to be compared with and restored. */
const keptVersions = 10;
/** So many at once are decided on while the agent waits. */
const versionsAtOnce = 200;

type OldVersion = BaselinePlace & { readonly version: string };

/** What is done now and then: idle users go, and what nobody needs. */
export class Upkeep {
  readonly #stores: LayerStores;
  readonly #views: SkillViews;
  readonly #trash: SkillTrash;
  readonly #isBusy: (user: UserPlace) => boolean;

  constructor(
    stores: LayerStores,
    views: SkillViews,
    trash: SkillTrash,
    isBusy: (user: UserPlace) => boolean,
  ) {
    this.#stores = stores;
    this.#views = views;
    this.#trash = trash;
    this.#isBusy = isBusy;
  }

  /** What fails for one user is told, and holds up no other. */
  async cleanUpIdle({
    idleMs = 24 * hourMs,
    trashMs = 7 * 24 * hourMs,
    onRemove,
    onRemoved,
  }: IdleOptions = {}): Promise<CleanedUp> {
    const now = this.#stores.now().getTime();
    const gone = new Set<UserPlace>();
    let trashed = 0;
    const found = await this.#users();
    for (const user of found) {
      const isIdle = async () => !this.#isBusy(user) && (await this.#lastUse(user)) < now - idleMs;
      const removeIdle = async () => {
        if (!(await isIdle())) return;
        await this.#stores.locks.alone(user.agentId, async () => {
          if (!(await isIdle())) return;
          await onRemove?.(user);
          trashed += await this.#removeUser(user, () => gone.add(user));
        });
      };
      await removeIdle().catch(this.#stores.failed);
      if (gone.has(user)) await onRemoved?.(user).catch(this.#stores.failed);
    }
    const left = found.filter((user) => !gone.has(user));
    return { users: [...gone], left, trashed, expired: await this.#trash.expire(new Date(now - trashMs)) };
  }

  /**
   * Versions that are not current, that no user and nothing in the trash is counted from, and older generations. What fails
   * for one user is told, and keeps the versions of that agent only: nobody knows which of them the user has.
   */
  async collectGarbage(keep = keptVersions): Promise<Collected> {
    const { failed } = this.#stores;
    const collected = { versions: 0, generations: 0 };
    const removeGenerations = async (user: UserPlace) => {
      await this.#discard(user.agentId, () => this.#unfinishedDocuments(user));
      collected.generations += await this.#discard(user.agentId, () => this.#oldGenerations(user));
      await this.#discard(user.agentId, () => this.#emptySkills(user));
    };
    const removeVersions = async (agentId: AgentId) => {
      collected.versions += await this.#removeVersions(agentId, keep);
    };
    for (const user of await this.#users()) await removeGenerations(user).catch(failed);
    for (const agentId of await this.#agents()) await removeVersions(agentId).catch(failed);
    return collected;
  }

  /** Every skill that has, or had, a baseline. */
  async baselines(): Promise<BaselinePlace[]> {
    const places: BaselinePlace[] = [];
    for (const agentId of await this.#agents()) {
      const skills = await this.#stores.baselines.skills(agentId);
      places.push(...skills.map((skillId) => ({ agentId, skillId })));
    }
    return places;
  }

  async #agents(): Promise<AgentId[]> {
    return (await namesIn(this.#stores.paths.baselines)).flatMap((name) => parsed(parseAgentId, name));
  }

  async #removeUser(user: UserPlace, onGone: () => void): Promise<number> {
    const { paths, users, files } = this.#stores;
    let trashed = await this.#trashSkills(user);
    if (await this.#trash.addSandbox(user)) trashed += 1;
    await this.#trash.trim(user);
    await files.removeTree(paths.sandbox(user));
    await this.#stores.withStaging(async (staging) => {
      await moveAway(paths.user(user), join(staging, 'user'));
      users.forget(user);
      onGone();
    });
    for (const folder of [paths.user(user), paths.sandbox(user)]) await removeEmpty(dirname(folder));
    return trashed;
  }

  /** All or none: who stays is tried again, and would have them in the trash once more each time. */
  async #trashSkills(user: UserPlace): Promise<number> {
    const added: string[] = [];
    try {
      for (const [skillId, record] of await this.#views.records(user)) {
        if (record.absent || !statusOf(record, record.pin).modified) continue;
        added.push(await this.#trash.add(await this.#views.of({ ...user, skillId }, record), 'idle'));
      }
      return added.length;
    } catch (error) {
      for (const id of added) await this.#trash.discard(user, id);
      throw error;
    }
  }

  /**
   * Looked for without the agent's lock first, as there is mostly nothing. What goes leaves its place under the lock, which
   * takes no time, and is removed when nobody waits for it.
   */
  async #discard(agentId: AgentId, find: () => Promise<readonly string[]>): Promise<number> {
    if ((await find()).length === 0) return 0;
    const { locks } = this.#stores;
    return this.#stores.withStaging((staging) =>
      locks.alone(agentId, async () => {
        const found = await find();
        for (const [n, path] of found.entries()) await moveAway(path, join(staging, String(n)));
        return found.length;
      }),
    );
  }

  /** That a crash left beside their place. */
  async #unfinishedDocuments(user: UserPlace): Promise<string[]> {
    const meta = this.#stores.paths.userMeta(user);
    return (await namesIn(meta)).filter((name) => name.endsWith('.tmp')).map((name) => join(meta, name));
  }

  async #oldGenerations(user: UserPlace): Promise<string[]> {
    const old: string[] = [];
    for (const { folder, current } of await this.#skillFolders(user)) {
      for (const name of await namesIn(folder)) {
        const isOld = name !== current && name !== `${current}.whole`;
        if (isOld && !this.#stores.holds.isHeld(join(folder, name))) old.push(join(folder, name));
      }
    }
    return old;
  }

  async #emptySkills(user: UserPlace): Promise<string[]> {
    const empty: string[] = [];
    for (const { folder, current } of await this.#skillFolders(user)) {
      if (current === undefined && (await namesIn(folder)).length === 0) empty.push(folder);
    }
    return empty;
  }

  /** With the generation that the user has of each, if any. */
  async #skillFolders(user: UserPlace) {
    const { paths } = this.#stores;
    const records: ReadonlyMap<string, SkillRecord> = await this.#views.records(user);
    const names = (await namesIn(paths.user(user))).filter((name) => name !== '.meta');
    return names.map((name) => {
      const record = records.get(name);
      const current = record && !isEmptyDelta(record.delta) ? String(record.generation) : undefined;
      return { folder: join(paths.user(user), name), current };
    });
  }

  async #removeVersions(agentId: AgentId, keep: number): Promise<number> {
    const { baselines } = this.#stores;
    const old: OldVersion[] = [];
    for (const skillId of await baselines.skills(agentId)) {
      const place = { agentId, skillId };
      await this.#discard(agentId, () => baselines.unfinished(place));
      const versions = (await baselines.versions(place)).slice(keep);
      old.push(...versions.map(({ version }) => ({ ...place, version })));
    }
    let parts = 0;
    for (let n = 0; n < old.length; n += versionsAtOnce) {
      const some = old.slice(n, n + versionsAtOnce);
      parts += await this.#discard(agentId, () => this.#unneeded(agentId, some));
    }
    return parts / 2;
  }

  /** The two parts of each version that nobody needs: users are looked for now, as others may have come meanwhile. */
  async #unneeded(agentId: AgentId, versions: readonly OldVersion[]): Promise<string[]> {
    const { baselines, holds, paths } = this.#stores;
    const needed = new Set<string>();
    for (const item of await this.#trash.ofAgent(agentId)) {
      if (item.kind === 'skill') needed.add(`${item.skillId}/${item.pin}`);
    }
    for (const user of await this.#users(agentId)) {
      for (const [skillId, { pin }] of await this.#views.records(user)) needed.add(`${skillId}/${pin}`);
    }
    const current = await baselines.current(agentId);
    return versions.flatMap(({ version, ...place }) => {
      const isCurrent = current.get(place.skillId)?.version === version;
      const isNeeded = isCurrent || needed.has(`${place.skillId}/${version}`);
      return isNeeded || holds.isHeld(paths.version(place, version)) ? [] : baselines.parts(place, version);
    });
  }

  async #users(ofAgent?: AgentId): Promise<UserPlace[]> {
    const places = new Map<string, UserPlace>();
    for (const root of [this.#stores.paths.overlays, join(this.#stores.paths.root, 'sandbox')]) {
      for (const user of await namesIn(root)) {
        for (const agent of ofAgent === undefined ? await namesIn(join(root, user)) : [ofAgent]) {
          const [userId] = parsed(parseUserId, user);
          const [agentId] = parsed(parseAgentId, agent);
          if (userId && agentId) places.set(`${userId}/${agentId}`, { userId, agentId });
        }
      }
    }
    return [...places.values()];
  }

  async #lastUse(user: UserPlace): Promise<number> {
    const used = await this.#stores.users.lastUse(user);
    if (used > 0) return used;
    for (const folder of [this.#stores.paths.sandbox(user), this.#stores.paths.user(user)]) {
      try {
        return (await stat(folder)).mtimeMs;
      } catch (error) {
        if (!isErrno(error, 'ENOENT')) throw error;
      }
    }
    return 0;
  }
}

async function moveAway(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
  }
}
