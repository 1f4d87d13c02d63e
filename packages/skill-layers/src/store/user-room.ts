import { type LayeredSkillId, SecboxError } from '@secbox/contracts';
import type { Delta } from '../tree/delta.js';
import type { UserPlace } from './layer-paths.js';
import type { UserRecords } from './user-records.js';

/** What the skills of one user with one agent may take, beside what the baseline has of them. */
export interface UserLimit {
  readonly bytes: number;
  /** Files and empty folders. */
  readonly entries: number;
}

/** Counts what users have from their records alone: nothing on the disk is looked at. */
export class UserRoom {
  readonly #users: Pick<UserRecords, 'find'>;
  readonly #limit: () => UserLimit;
  /** A delta is never changed once it is made. */
  readonly #sizes = new WeakMap<Delta, UserLimit>();

  constructor(users: Pick<UserRecords, 'find'>, limit: () => UserLimit = () => unlimited) {
    this.#users = users;
    this.#limit = limit;
  }

  get bytes(): number {
    return this.#limit().bytes;
  }

  /** Throws when these, in place of what the user has of the same names, are too much; less than before never is. */
  async assert(user: UserPlace, next: ReadonlyMap<LayeredSkillId, Delta>): Promise<void> {
    const limit = this.#limit();
    const records = (await this.#users.find(user))?.skills ?? new Map<LayeredSkillId, { delta: Delta }>();
    const after = this.#sum([...next.values()]);
    const before = this.#sum([...next.keys()].flatMap((id) => records.get(id)?.delta ?? []));
    const others = this.#sum([...records].flatMap(([id, { delta }]) => (next.has(id) ? [] : [delta])));
    for (const unit of ['bytes', 'entries'] as const) {
      const taken = others[unit] + after[unit];
      if (taken > limit[unit] && after[unit] > before[unit]) throw full(unit, taken, limit[unit]);
    }
  }

  #sum(deltas: readonly Delta[]): UserLimit {
    let [bytes, entries] = [0, 0];
    for (const delta of deltas) {
      const size = this.#sizeOf(delta);
      bytes += size.bytes;
      entries += size.entries;
    }
    return { bytes, entries };
  }

  #sizeOf(delta: Delta): UserLimit {
    const known = this.#sizes.get(delta);
    if (known) return known;
    const { files, folders } = delta.added;
    let bytes = 0;
    for (const file of files.values()) bytes += file.bytes;
    const size = { bytes, entries: files.size + folders.size };
    this.#sizes.set(delta, size);
    return size;
  }
}

const unlimited: UserLimit = { bytes: Infinity, entries: Infinity };

function full(unit: keyof UserLimit, taken: number, most: number): SecboxError {
  const what = unit === 'bytes' ? 'bytes' : 'files and folders';
  return new SecboxError(
    'storage_full',
    `The user's skills with this agent would take ${taken} ${what} of their own; they may take ${most}.`,
    { details: { unit, taken, most } },
  );
}
