import { randomUUID } from 'node:crypto';
import { rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type AgentId, parseAgentId, parseLayeredSkillId, parseUserId, SecboxError } from '@secbox/contracts';
import { isErrno } from '@secbox/workspace';
import type { SandboxHolds } from './exec/sandbox-holds.js';
import { removeEmpty } from './store/durable-files.js';
import type { Generations } from './store/generations.js';
import type { SkillPlace, UserPlace } from './store/layer-paths.js';
import type { LayerStores } from './store/layer-stores.js';
import type { SkillView, SkillViews } from './store/skill-views.js';
import { namesIn, parsed } from './store/user-records.js';
import { statusOf } from './skill-status.js';
import { applyDelta, type DeltaDocument, deltaFromDocument, deltaToDocument } from './tree/delta.js';
import { emptyTree } from './tree/tree.js';

export interface TrashedSkill {
  readonly id: string;
  readonly kind: 'skill';
  readonly userId: string;
  readonly agentId: string;
  readonly skillId: string;
  readonly reason: 'idle' | 'deleted' | 'synced';
  readonly removed_at: string;
  readonly pin: string | null;
  readonly opaque: boolean;
  readonly delta: DeltaDocument;
}

/** The general sandbox of a user, as a folder. */
export interface TrashedSandbox {
  readonly id: string;
  readonly kind: 'sandbox';
  readonly userId: string;
  readonly agentId: string;
  readonly reason: 'idle';
  readonly removed_at: string;
}

export type TrashedItem = TrashedSkill | TrashedSandbox;

const entryName = 'entry.json';
const filesName = 'files';
const unfinished = '.making';

/** What users made and have no more, for a while. */
export class SkillTrash {
  readonly #stores: LayerStores;
  readonly #views: SkillViews;
  readonly #generations: Generations;
  readonly #sandboxes: Pick<SandboxHolds, 'isBusy' | 'forgetStamp'>;

  constructor(
    stores: LayerStores,
    views: SkillViews,
    generations: Generations,
    sandboxes: Pick<SandboxHolds, 'isBusy' | 'forgetStamp'>,
  ) {
    this.#stores = stores;
    this.#views = views;
    this.#generations = generations;
    this.#sandboxes = sandboxes;
  }

  /** Of links, so that it costs no room and the skill is there until it is removed. */
  async add(view: SkillView, reason: TrashedSkill['reason']): Promise<string> {
    const { place, record } = view;
    const files = [...record.delta.added.files].map(([path, { executable }]) => ({
      path,
      from: this.#views.locate(view, path),
      executable,
      by: 'link' as const,
    }));
    const { pin, opaque } = record;
    const delta = deltaToDocument(record.delta);
    return this.#enter({ ...place, kind: 'skill', reason, pin, opaque, delta }, (folder) =>
      this.#stores.files.makeTree(folder, files, [...record.delta.added.folders]),
    );
  }

  /** Moves it here whole; undefined when there is none. */
  async addSandbox(user: UserPlace): Promise<string | undefined> {
    const sandbox = this.#stores.paths.sandbox(user);
    if ((await namesIn(sandbox)).length === 0) return undefined;
    return this.#enter(
      { userId: user.userId, agentId: user.agentId, kind: 'sandbox', reason: 'idle' },
      (folder) => rename(sandbox, folder),
    );
  }

  /** Newest first. */
  async list(user: UserPlace): Promise<TrashedItem[]> {
    const folder = this.#stores.paths.trashedOf(user);
    const items: TrashedItem[] = [];
    for (const id of await namesIn(folder)) {
      const item = await this.#read(join(folder, id));
      if (item) items.push(item);
    }
    return items.sort((a, b) => (a.removed_at < b.removed_at ? 1 : -1));
  }

  async ofAgent(agentId: AgentId): Promise<TrashedItem[]> {
    const items: TrashedItem[] = [];
    for (const user of await this.#users(agentId)) items.push(...(await this.list(user)));
    return items;
  }

  /** Puts it back as it was; refused where the user has begun something in its place. */
  async restore(user: UserPlace, id: string): Promise<TrashedItem> {
    return this.#views.writing(user, async () => {
      const item = /^[0-9a-f-]{36}$/.test(id) ? await this.#read(this.#folderOf(user, id)) : undefined;
      if (!item) throw notFound(id);
      if (item.kind === 'skill')
        await this.#restoreSkill({ ...user, skillId: parseLayeredSkillId(item.skillId) }, item);
      else await this.#restoreSandbox(user, item);
      await this.discard(user, id);
      return item;
    });
  }

  /** For good. */
  discard(user: UserPlace, id: string): Promise<void> {
    return this.#stores.files.removeTree(this.#folderOf(user, id));
  }

  /**
   * Of one user no more is kept than a user may have: the oldest go. The newest of each kind stays, however large, so that
   * what was removed just now can be had back.
   */
  async trim(user: UserPlace): Promise<void> {
    let bytes = 0;
    const kept = new Set<TrashedItem['kind']>();
    for (const item of await this.list(user)) {
      if (item.kind === 'skill') for (const [, , size] of item.delta.files) bytes += size;
      if (bytes > this.#stores.room.bytes && kept.has(item.kind)) await this.discard(user, item.id);
      kept.add(item.kind);
    }
  }

  /** Gives how many went. What fails for one user is told, and holds up no other. */
  async expire(olderThan: Date): Promise<number> {
    let expired = 0;
    const expireOf = async (user: UserPlace) => {
      const items = await this.list(user);
      const old = items.filter((item) => new Date(item.removed_at) < olderThan);
      for (const { id } of old) {
        await this.discard(user, id);
        expired += 1;
      }
      if (old.length === items.length) await this.#removeEmpty(user);
    };
    for (const agent of await namesIn(this.#stores.paths.trashedUsers)) {
      for (const agentId of parsed(parseAgentId, agent)) {
        for (const user of await this.#users(agentId)) await expireOf(user).catch(this.#stores.failed);
      }
    }
    return expired;
  }

  /**
   * What was on its way when a server was killed: a sandbox has left its place already, a skill has not. What a server left
   * here that had no folders of users is theirs.
   */
  async recover(): Promise<void> {
    const { paths, files, failed } = this.#stores;
    const recoverOne = async (name: string) => {
      const folder = join(paths.trash, name);
      const item = await this.#read(folder);
      const isUnfinished = name.endsWith(unfinished);
      const isMoved = item?.kind === 'sandbox' && (await namesIn(folder)).includes(filesName);
      if (item && (isMoved || !isUnfinished)) await this.#file(folder, item);
      else if (isUnfinished) await files.removeTree(folder);
    };
    for (const name of await namesIn(paths.trash)) {
      if (join(paths.trash, name) !== paths.trashedUsers) await recoverOne(name).catch(failed);
    }
  }

  async #enter(
    item: Omit<TrashedSkill, 'id' | 'removed_at'> | Omit<TrashedSandbox, 'id' | 'removed_at'>,
    fill: (folder: string) => Promise<void>,
  ): Promise<string> {
    const { paths, files, now } = this.#stores;
    const id = randomUUID();
    const folder = join(paths.trash, id + unfinished);
    await files.ensureFolder(folder);
    const entry = { id, removed_at: now().toISOString(), ...item };
    await files.writeDocument(join(folder, entryName), entry);
    await fill(join(folder, filesName));
    await this.#file(folder, entry);
    return id;
  }

  /** Puts what is whole where its user finds it. */
  async #file(folder: string, item: TrashedItem): Promise<void> {
    const { paths, files } = this.#stores;
    const user = userOf(item);
    await files.ensureFolder(paths.trashedOf(user));
    await files.moveTree(folder, this.#folderOf(user, item.id));
  }

  async #read(folder: string): Promise<TrashedItem | undefined> {
    return (await this.#stores.files.readDocument(join(folder, entryName))) as TrashedItem | undefined;
  }

  #folderOf(user: UserPlace, id: string): string {
    return join(this.#stores.paths.trashedOf(user), id);
  }

  async #users(agentId: AgentId): Promise<UserPlace[]> {
    const names = await namesIn(join(this.#stores.paths.trashedUsers, agentId));
    return names.flatMap((name) => parsed(parseUserId, name)).map((userId) => ({ userId, agentId }));
  }

  /** Under the lock, or it would go between being made for something and having it. */
  async #removeEmpty(user: UserPlace): Promise<void> {
    const folder = this.#stores.paths.trashedOf(user);
    await this.#stores.locks.alone(user.agentId, async () => {
      for (const each of [folder, dirname(folder)]) await removeEmpty(each);
    });
  }

  async #restoreSkill(place: SkillPlace, item: TrashedSkill): Promise<void> {
    const record = (await this.#views.records(place)).get(place.skillId);
    if (record && !record.absent && statusOf(record, record.pin).modified) throw exists(place.skillId);
    const delta = deltaFromDocument(item.delta);
    const below =
      item.opaque || item.pin === null ? emptyTree : await this.#stores.baselines.tree(place, item.pin);
    const folder = join(this.#folderOf(place, item.id), filesName);
    const contents = [...delta.added.files].map(
      ([path, { sha256, executable }]) =>
        [sha256, { path: join(folder, path), executable, isSynced: true }] as const,
    );
    const view = record && !record.absent ? await this.#views.of(place, record) : undefined;
    await this.#generations.store(place, view, {
      tree: applyDelta(below, delta),
      pin: item.pin,
      opaque: item.opaque,
      contents: new Map(contents),
    });
  }

  async #restoreSandbox(user: UserPlace, { id }: TrashedSandbox): Promise<void> {
    const sandbox = this.#stores.paths.sandbox(user);
    // Another folder takes its place: what is being written in it would be lost.
    if (this.#sandboxes.isBusy(user)) {
      throw new SecboxError('project_in_use', 'The sandbox is in use; try again when it is not.');
    }
    await this.#stores.files.ensureFolder(sandbox);
    try {
      await rename(join(this.#folderOf(user, id), filesName), sandbox);
    } catch (error) {
      if (isErrno(error, 'ENOTEMPTY', 'EEXIST')) throw exists('sandbox');
      // A server that was killed had put it back, and not come to forgetting the entry.
      if (!isErrno(error, 'ENOENT')) throw error;
    }
    // What was known of its size is that of another folder.
    this.#sandboxes.forgetStamp(user);
  }
}

function userOf({ userId, agentId }: TrashedItem): UserPlace {
  return { userId: parseUserId(userId), agentId: parseAgentId(agentId) };
}

function notFound(id: string): SecboxError {
  return new SecboxError('trash_entry_not_found', 'Nothing of that id is in the trash.', { details: { id } });
}

function exists(what: string): SecboxError {
  return new SecboxError('skill_exists', `There is something in the place of ${what} already.`, {
    details: { what },
  });
}
