import type { SkillRecord } from './store/user-records.js';
import { isEmptyDelta } from './tree/delta.js';

export type SkillState = 'UNCHANGED' | 'MODIFIED' | 'NEW' | 'OUT_OF_SYNC';

export interface SkillStatus {
  readonly status: SkillState;
  /** Whether the user changed something, also where the baseline moved on meanwhile. */
  readonly modified: boolean;
  /** The baseline version that the user's changes are counted from. */
  readonly pinned_version: string | null;
  readonly current_version: string | null;
  readonly generation: number;
  /** The user deleted it; syncing brings it back. */
  readonly deleted: boolean;
}

/** By content: a change that was taken back is none. Records are kept so that an empty delta says just that. */
export function statusOf(record: SkillRecord, current: string | null): SkillStatus {
  const modified = record.absent || record.opaque || !isEmptyDelta(record.delta);
  return {
    status: stateOf(record, current, modified),
    modified,
    pinned_version: record.pin,
    current_version: current,
    generation: isEmptyDelta(record.delta) ? 0 : record.generation,
    deleted: record.absent,
  };
}

function stateOf({ pin }: SkillRecord, current: string | null, modified: boolean): SkillState {
  if (pin === null && current === null) return 'NEW';
  if (pin !== current) return 'OUT_OF_SYNC';
  return modified ? 'MODIFIED' : 'UNCHANGED';
}
