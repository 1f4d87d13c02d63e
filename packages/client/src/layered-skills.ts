import type {
  BaselinedAnswer,
  LayeredSkillAnswer,
  LayeredSkillStatus,
  SkillDiffAnswer,
  SkillDiffQuery,
  SkillVersionAnswer,
  SyncedAnswer,
  UploadedSkillAnswer,
} from '@secbox/contracts';
import type { Connection } from './connection.js';
import type { Execs } from './execs.js';
import { allOf } from './pages.js';
import { UserFiles } from './user-files.js';

interface Asking {
  readonly signal?: AbortSignal | undefined;
}

export interface UploadOptions extends Asking {
  /** What the archive is called: names a skill that has no folder of its own. */
  readonly name?: string;
  /** Whose they become: the user's, or everybody's with that agent. */
  readonly scope?: 'overlay' | 'baseline';
}

interface VersionsAnswer {
  readonly data: readonly SkillVersionAnswer[];
  readonly next_cursor: string | null;
}

/** Skills as files, as one user of an agent has them. */
export class LayeredSkills {
  readonly #connection: Connection;
  readonly #execs: Execs;
  readonly #ids: string;

  constructor(connection: Connection, execs: Execs, userId: string, agentId: string) {
    this.#connection = connection;
    this.#execs = execs;
    this.#ids = `${encodeURIComponent(userId)}/${encodeURIComponent(agentId)}`;
  }

  /** Takes the skills of a ZIP over, each in place of the one of its name. `openAsBlob` of node:fs has one of any size. */
  async upload(
    archive: Blob | Uint8Array<ArrayBuffer>,
    { name = 'skills.zip', scope = 'overlay', signal }: UploadOptions = {},
  ): Promise<readonly UploadedSkillAnswer[]> {
    const content = new FormData();
    content.append('file', archive instanceof Blob ? archive : new Blob([archive]), name);
    const { skills } = await this.#connection.json<{ skills: readonly UploadedSkillAnswer[] }>(
      `/v1/skills/${this.#ids}/upload`,
      { method: 'POST', query: { scope }, content, signal },
    );
    return skills;
  }

  async list({ signal }: Asking = {}): Promise<readonly LayeredSkillAnswer[]> {
    const path = `/v1/skills/${this.#ids}/list`;
    return (await this.#connection.json<{ data: readonly LayeredSkillAnswer[] }>(path, { signal })).data;
  }

  skill(skillId: string): LayeredSkill {
    const path = `/v1/skills/${this.#ids}/${encodeURIComponent(skillId)}`;
    return new LayeredSkill(this.#connection, this.#execs, path);
  }

  /** The general sandbox, which has nothing to do with any skill. */
  get sandbox(): UserFiles {
    return new UserFiles(this.#connection, this.#execs, `/v1/sandbox/${this.#ids}`);
  }
}

/** One of them: its files, and what it is to the agent's baseline. */
export class LayeredSkill extends UserFiles {
  status({ signal }: Asking = {}): Promise<LayeredSkillStatus> {
    return this.data('status', { signal });
  }

  /** Takes the current baseline over; each file that both changed is told. */
  sync({
    keep,
    signal,
  }: Asking & { readonly keep?: 'mine' | 'theirs' | undefined } = {}): Promise<SyncedAnswer> {
    return this.data('sync', { method: 'POST', query: { keep }, signal });
  }

  /** Makes what the user sees the baseline; a conflict when that moved on meanwhile, unless forced. */
  baseline({
    force,
    signal,
  }: Asking & { readonly force?: boolean | undefined } = {}): Promise<BaselinedAnswer> {
    return this.data('baseline', { method: 'POST', query: { force }, signal });
  }

  /** Every version, newest first. */
  versions({ signal }: Asking = {}): AsyncIterable<SkillVersionAnswer> {
    return allOf(
      (cursor) =>
        this.connection.json<VersionsAnswer>(`${this.path}/versions`, { query: { cursor }, signal }),
      ({ data }) => data,
    );
  }

  /** Makes an older version the baseline again. */
  restoreVersion(version: string, { signal }: Asking = {}): Promise<BaselinedAnswer> {
    return this.data(`versions/${encodeURIComponent(version)}/restore`, { method: 'POST', signal });
  }

  diff(query: SkillDiffQuery = {}, { signal }: Asking = {}): Promise<SkillDiffAnswer> {
    return this.data('diff', { query, signal });
  }
}
