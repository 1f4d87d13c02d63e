import { open, readFile, rename, rm } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { everyone, type ApiKeys } from '@secbox/access';
import { defaultTenant, roles } from '@secbox/contracts';
import { isErrno } from '@secbox/workspace';

/** Whether the key in the file can be used. */
export type DevelopmentKey = { readonly path: string; readonly usable: boolean };

export interface DevelopmentKeyOptions {
  /** Whether one is made where there is none. */
  readonly make: boolean;
  /** False where others than this machine's users reach the server. */
  readonly keep: boolean;
}

const maker = 'npm start';

/**
 * A key that may do everything in the tenant `default`, in a file that only its owner can read, for trying things
 * on this machine. It goes with its file: one whose file is gone is revoked, and where the server can be reached from
 * elsewhere the file goes too. One that somebody revoked is not made anew: that takes removing the file.
 */
export async function developmentKey(
  path: string,
  keys: ApiKeys,
  { make, keep }: DevelopmentKeyOptions,
): Promise<DevelopmentKey | undefined> {
  if (!keep) await rm(path, { force: true });
  const kept = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  });
  const found = kept === undefined ? undefined : await keys.authenticate(kept.trim());
  const holder = found && 'principal' in found ? found.principal.actor : undefined;
  await revokeOthers(keys, holder);
  if (!make || !keep) return undefined;
  if (holder !== undefined) return { path, usable: true };
  if (found && 'refused' in found && found.refused !== 'unknown') return { path, usable: false };
  const { key } = await keys.make({ tenant: defaultTenant, roles, label: 'development' }, by);
  await writeOwn(path, `${key}\n`);
  return { path, usable: true };
}

const by = { actor: maker, address: null };

async function revokeOthers(keys: ApiKeys, holder: string | null | undefined): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = await keys.list(everyone, { limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
    for (const key of page.keys) {
      const stale = key.created_by === maker && key.revoked_at === null && key.key_id !== holder;
      if (stale) await keys.revokeIn(defaultTenant, key.key_id, by);
    }
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
}

/** Whole or not at all, and from its first byte on for its owner only. */
async function writeOwn(path: string, text: string): Promise<void> {
  const staged = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const file = await open(staged, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(staged, path);
  } finally {
    await rm(staged, { force: true });
  }
}
