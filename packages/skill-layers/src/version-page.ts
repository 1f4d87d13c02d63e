import { SecboxError } from '@secbox/contracts';
import { byAge, type VersionRecord } from './store/baseline-store.js';

export interface VersionPage<T> {
  readonly versions: readonly T[];
  readonly next_cursor: string | null;
}

const defaultLimit = 50;
const cursorForm = /^([0-9TZ:.-]{24})_([0-9a-f]{64})$/;

/** Of versions in their order. A cursor says where the page before ended, also when that version is gone by now. */
export function pageOfVersions<T extends Pick<VersionRecord, 'created_at' | 'version'>>(
  versions: readonly T[],
  { cursor, limit = defaultLimit }: { readonly cursor?: string; readonly limit?: number },
): VersionPage<T> {
  const ended = cursor === undefined ? undefined : placeOf(cursor);
  const left = ended
    ? versions.filter((each) => each.version !== ended.version && byAge(ended, each) < 0)
    : versions;
  const page = left.slice(0, limit);
  const last = page.at(-1);
  const next = last && left.length > page.length ? `${last.created_at}_${last.version}` : null;
  return { versions: page, next_cursor: next };
}

function placeOf(cursor: string): Pick<VersionRecord, 'created_at' | 'version'> {
  const [, created_at, version] = cursorForm.exec(cursor) ?? [];
  if (created_at !== undefined && version !== undefined) return { created_at, version };
  throw new SecboxError('invalid_request', '"cursor" is not one that was given for this list.', {
    details: { field: 'cursor' },
  });
}
