import { SecboxError } from '@secbox/contracts';

/** What an archive may be, so that none fills the disk, the memory or the time of a server. */
export interface ArchiveLimits {
  /** Of the ZIP itself. */
  readonly archiveBytes: number;
  /** Of all files together, unpacked. */
  readonly bytes: number;
  /** Of one file, unpacked. */
  readonly fileBytes: number;
  readonly entries: number;
  /** Components of a path. */
  readonly depth: number;
  /** How many times its own size an archive may grow to, once it is past {@link ratioFloorBytes}. */
  readonly ratio: number;
}

export const defaultArchiveLimits: ArchiveLimits = {
  archiveBytes: 256 * 1024 ** 2,
  bytes: 512 * 1024 ** 2,
  fileBytes: 256 * 1024 ** 2,
  entries: 10_000,
  depth: 16,
  ratio: 200,
};

/** Small archives of very regular text pack well, and harm nobody. */
export const ratioFloorBytes = 8 * 1024 ** 2;

export function invalidArchive(why: string, entry?: string): SecboxError {
  const at = entry === undefined ? '' : ` (${quoted(entry)})`;
  return new SecboxError('invalid_archive', `The archive cannot be taken: ${why}${at}.`, {
    details: entry === undefined ? {} : { entry: quoted(entry) },
  });
}

export function tooLarge(what: string, limit: keyof ArchiveLimits, most: number): SecboxError {
  return new SecboxError('archive_too_large', `The archive cannot be taken: ${what}, at most ${most}.`, {
    details: { limit, most },
  });
}

/** Names are the uploader's: told, but neither at any length nor with what would move a cursor. */
function quoted(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name).slice(1, -1);
}
