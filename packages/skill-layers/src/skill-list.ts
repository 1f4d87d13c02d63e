import { type LayeredSkillId, parseLayeredSkillId } from '@secbox/contracts';
import { metadataBytes, metadataFiles, metadataOf, type SkillMetadata } from '@secbox/skill-archive';
import type { GlobalPack } from './files/global-pack.js';
import { openAt, type ReadableSkill } from './files/readable-skill.js';
import { type SkillStatus, statusOf } from './skill-status.js';
import { globalPackId, type SkillPlace, type UserPlace } from './store/layer-paths.js';
import type { LayerStores } from './store/layer-stores.js';
import type { SkillViews } from './store/skill-views.js';
import type { SkillRecord } from './store/user-records.js';

export interface ListedSkill extends SkillMetadata, SkillStatus {
  readonly skillId: LayeredSkillId;
  /** Where what the user sees comes from. */
  readonly layer: 'global' | 'baseline' | 'overlay';
}

export const packId = parseLayeredSkillId(globalPackId);

/** A pack is what it is for everybody. */
export const packStatus: SkillStatus = {
  status: 'UNCHANGED',
  modified: false,
  pinned_version: null,
  current_version: null,
  generation: 0,
  deleted: false,
};

const knownTexts = 5_000;

/** Names and descriptions, read once for each content they come from. */
export class SkillNames {
  readonly #known = new Map<string, SkillMetadata>();

  async of(skill: ReadableSkill, skillId: LayeredSkillId): Promise<SkillMetadata> {
    const key = [skillId, ...metadataFiles.map((name) => skill.tree.files.get(name)?.sha256)].join(' ');
    const known = this.#known.get(key) ?? metadataOf(await beginningsOf(skill), skillId);
    this.#known.delete(key);
    this.#known.set(key, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > knownTexts && oldest !== undefined) this.#known.delete(oldest);
    return known;
  }
}

/** What users have, told under the agent's lock. */
export class SkillList {
  readonly names = new SkillNames();
  readonly #stores: LayerStores;
  readonly #views: SkillViews;
  readonly #pack: GlobalPack;

  constructor(stores: LayerStores, views: SkillViews, pack: GlobalPack) {
    this.#stores = stores;
    this.#views = views;
    this.#pack = pack;
  }

  async all(user: UserPlace): Promise<ListedSkill[]> {
    const pack = await this.#pack.read();
    const listed: ListedSkill[] = pack
      ? [{ skillId: packId, ...(await this.names.of(pack, packId)), ...packStatus, layer: 'global' }]
      : [];
    const current = await this.#stores.baselines.current(user.agentId);
    for (const [skillId, record] of await this.#views.records(user)) {
      if (record.absent || (pack && skillId === packId)) continue;
      listed.push(await this.#told({ ...user, skillId }, record, current.get(skillId)?.version ?? null));
    }
    return listed.sort((a, b) => (a.skillId < b.skillId ? -1 : 1));
  }

  /** What is the user's own: it differs from the baseline, or there is none. */
  async own(user: UserPlace): Promise<ListedSkill[]> {
    const records = [...(await this.#views.records(user))];
    const isHidden = records.some(([id]) => id === packId) && (await this.#pack.read()) !== undefined;
    const own = records.filter(([id, record]) => isOwn(record) && !(isHidden && id === packId));
    return Promise.all(own.map(([skillId, record]) => this.#told({ ...user, skillId }, record, record.pin)));
  }

  /** Of every skill, also of those that the user deleted. */
  async statuses(user: UserPlace): Promise<Map<LayeredSkillId, SkillStatus>> {
    const current = await this.#stores.baselines.current(user.agentId);
    const records = await this.#views.records(user);
    const told = [...records].map(
      ([skillId, record]) => [skillId, statusOf(record, current.get(skillId)?.version ?? null)] as const,
    );
    return new Map(told);
  }

  async #told(place: SkillPlace, record: SkillRecord, current: string | null): Promise<ListedSkill> {
    const { skillId } = place;
    const view = await this.#views.of(place, record);
    const readable = { tree: view.tree, locate: (path: string) => this.#views.locate(view, path) };
    const names = await this.names.of(readable, skillId);
    const layer = isOwn(record) ? 'overlay' : 'baseline';
    return { skillId, ...names, ...statusOf(record, current), layer };
  }
}

/** Whether there is anything of the user's own in it to be seen. */
export function isOwn(record: SkillRecord): boolean {
  return !record.absent && (record.pin === null || statusOf(record, record.pin).modified);
}

async function beginningsOf(skill: ReadableSkill): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const name of metadataFiles) {
    if (!skill.tree.files.has(name)) continue;
    const { handle } = await openAt(skill, name);
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(metadataBytes), 0, metadataBytes, 0);
      texts.set(name, buffer.toString('utf8', 0, bytesRead));
    } finally {
      await handle.close();
    }
  }
  return texts;
}
