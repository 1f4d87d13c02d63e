import { parseLayeredSkillId, type TenantId } from '@secbox/contracts';
import type { SkillRegistryStore } from '@secbox/database';
import type { BaselinePlace, SkillLayers, SkillPlace, UserPlace } from '@secbox/skill-layers';
import { NamedLocks } from './sandboxes.js';

export interface SkillRegisterOptions {
  readonly store: Pick<SkillRegistryStore, 'put' | 'remove' | 'removeUser' | 'list'>;
  readonly now: () => Date;
}

/** A change of these may change the name and description of a skill. */
const namingFiles = /^(skill|readme)\.md$/i;
const mostKnown = 100_000;

/** Keeps `agent_skill_registry` in step with what is on disk: who has which skill, and what each agent's baseline has. */
export class SkillRegister {
  readonly #store: SkillRegisterOptions['store'];
  readonly #now: () => Date;
  readonly #locks = new NamedLocks();
  /** Users' skills whose rows are as they should be, as long as neither name nor state changes. */
  readonly #known = new Set<string>();

  constructor({ store, now }: SkillRegisterOptions) {
    this.#store = store;
    this.#now = now;
  }

  list(tenant: TenantId, { agentId, userId }: UserPlace) {
    return this.#store.list(tenant, agentId, userId);
  }

  /** After files of a user's skill were changed. */
  edited(tenant: TenantId, layers: SkillLayers, place: SkillPlace, paths: readonly string[]): Promise<void> {
    const isNaming = paths.some((path) => namingFiles.test(path));
    return this.#alone(tenant, place, async () => {
      if (!isNaming && this.#known.has(keyOf(tenant, place)) && (await isOwn(layers, place))) return;
      await this.#write(tenant, layers, place);
    });
  }

  /** Has a row of the user's own for what differs from the baseline, and none for what does not. */
  refresh(tenant: TenantId, layers: SkillLayers, place: SkillPlace): Promise<void> {
    return this.#alone(tenant, place, () => this.#write(tenant, layers, place));
  }

  /** After the baseline of a skill changed, or went. */
  baselined(tenant: TenantId, layers: SkillLayers, { agentId, skillId }: BaselinePlace): Promise<void> {
    return this.#alone(tenant, { agentId, userId: null }, async () => {
      const named = await layers.namesOf({ agentId, skillId });
      const key = { tenant, agentId, userId: null, skillId };
      if (named) await this.#store.put(key, named, this.#now());
      else await this.#store.remove(key);
    });
  }

  /** Before a user that was idle for too long goes: killed in between, the rows come back, and the user goes the next time. */
  cleanedUp(tenant: TenantId, user: UserPlace): Promise<void> {
    return this.#alone(tenant, user, async () => {
      await this.#store.removeUser({ tenant, ...user });
      const prefix = `${tenant}/${user.agentId}/${user.userId}/`;
      for (const key of this.#known) if (key.startsWith(prefix)) this.#known.delete(key);
    });
  }

  /** Makes good what a server that was killed, or a database that was not there, left undone. Gives how many rows. */
  async reconcile(tenant: TenantId, layers: SkillLayers, users: readonly UserPlace[]): Promise<number> {
    let mended = 0;
    for (const place of await layers.baselines()) {
      const rows = await this.#store.list(tenant, place.agentId);
      const row = rows.find(({ skill_id: id }) => id === place.skillId);
      if (isTold(row, await layers.namesOf(place))) continue;
      await this.baselined(tenant, layers, place);
      mended += 1;
    }
    for (const user of users) {
      const own = new Map((await layers.own(user)).map((skill) => [skill.skillId, skill]));
      const all = await this.#store.list(tenant, user.agentId, user.userId);
      const rows = new Map(all.flatMap((row) => (row.user_id === null ? [] : [[row.skill_id, row]])));
      for (const id of new Set([...own.keys(), ...rows.keys()])) {
        const skillId = parseLayeredSkillId(id);
        if (isTold(rows.get(id), own.get(skillId))) continue;
        await this.refresh(tenant, layers, { ...user, skillId });
        mended += 1;
      }
    }
    return mended;
  }

  async #write(tenant: TenantId, layers: SkillLayers, place: SkillPlace): Promise<void> {
    const { userId, agentId, skillId } = place;
    const own = (await layers.own(place)).find((each) => each.skillId === skillId);
    const key = { tenant, agentId, userId, skillId };
    if (own) {
      await this.#store.put(key, own, this.#now());
      if (this.#known.size >= mostKnown) this.#known.clear();
      this.#known.add(keyOf(tenant, place));
    } else {
      await this.#store.remove(key);
      this.#known.delete(keyOf(tenant, place));
    }
  }

  /** Looking and writing are one step, so that of two changes the later one is what stays. */
  #alone<T>(tenant: TenantId, { agentId, userId }: Registered, work: () => Promise<T>): Promise<T> {
    return this.#locks.using(`${tenant}/${agentId}/${userId ?? ''}`, (lock) => lock.alone(work));
  }
}

type Registered = Pick<UserPlace, 'agentId'> & { readonly userId: UserPlace['userId'] | null };

async function isOwn(layers: SkillLayers, place: SkillPlace): Promise<boolean> {
  const status = (await layers.statuses(place)).get(place.skillId);
  return status !== undefined && !status.deleted && (status.pinned_version === null || status.modified);
}

interface Named {
  readonly name: string;
  readonly description: string;
}

function isTold(row: Named | undefined, is: Named | undefined): boolean {
  return row?.name === is?.name && row?.description === is?.description;
}

function keyOf(tenant: TenantId, { agentId, userId, skillId }: SkillPlace): string {
  return `${tenant}/${agentId}/${userId}/${skillId}`;
}
