import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ApiKeys, type Doer } from '@secbox/access';
import {
  apiKeyRequestSchema,
  parseKeyId,
  parseTenantId,
  roles,
  SecboxError,
  type ApiKey,
  type ApiKeyRequest,
} from '@secbox/contracts';
import { lockInstance, openDatabase, type Database } from '@secbox/database';
import type { Logger } from '@secbox/logging';
import { validatorOf } from './validate.js';

/** What the command prints: the key itself, or the list, for programs; the rest for people. */
export interface KeyCommandOutput {
  readonly result: (line: string) => void;
  readonly note: (line: string) => void;
}

const options = {
  'data-dir': { type: 'string' },
  tenant: { type: 'string' },
  role: { type: 'string', multiple: true },
  label: { type: 'string' },
  days: { type: 'string' },
  'user-pattern': { type: 'string', multiple: true },
  'agent-pattern': { type: 'string', multiple: true },
  list: { type: 'boolean' },
  revoke: { type: 'string' },
} as const;

const by: Doer = { actor: 'npm run key', address: null };

/** Makes, lists and revokes keys on a data folder, whether a server has it open or not. */
export async function keyCommand(args: readonly string[], output: KeyCommandOutput): Promise<void> {
  const { values } = readArguments(args);
  const dataDir = values['data-dir'] ?? '';
  const tenant = parseTenantId(values.tenant ?? 'default');
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await withDatabase(dataDir, async (database) => {
    const keys = new ApiKeys({ records: database.keys, logger: silent, now: () => new Date() });
    if (values.list === true) {
      for (let after: number | undefined; ;) {
        const page = await database.keys.list(tenant, { after, limit: 100 });
        for (const key of page.items) output.result(lineOf(key));
        after = page.after;
        if (after === undefined) return;
      }
    }
    if (values.revoke !== undefined) {
      const revoked = await keys.revokeIn(undefined, parseKeyId(values.revoke), by);
      output.note(`Revoked ${lineOf(revoked)}`);
      return;
    }
    const validate = validatorOf<ApiKeyRequest>(apiKeyRequestSchema);
    const request = validate({
      roles: values.role ?? [],
      ...(values.label === undefined ? {} : { label: values.label }),
      ...(values.days === undefined ? {} : { expires_at: inDays(values.days) }),
      ...(values['user-pattern'] === undefined ? {} : { user_patterns: values['user-pattern'] }),
      ...(values['agent-pattern'] === undefined ? {} : { agent_patterns: values['agent-pattern'] }),
    });
    const { key, ...made } = await keys.make({ ...request, tenant }, by);
    output.note(`Made ${lineOf(made)}\nThis is the only time that it is shown:`);
    output.result(key);
  });
}

function readArguments(args: readonly string[]) {
  try {
    const read = parseArgs({ args: [...args], options });
    const { list, revoke, role } = read.values;
    const asked = [list === true, revoke !== undefined, role !== undefined].filter(Boolean).length;
    if (asked !== 1) throw new Error(`Give --role (${roles.join(', ')}), or --list, or --revoke.`);
    return read;
  } catch (error) {
    throw new SecboxError('invalid_request', error instanceof Error ? error.message : String(error));
  }
}

/** Beside a running server nothing but rows is touched; without one, the database is made or brought up to date. */
async function withDatabase(dataDir: string, work: (database: Database) => Promise<void>): Promise<void> {
  const lock = tryLock(join(dataDir, 'server.lock'));
  try {
    const database = await openDatabase(join(dataDir, 'secbox.db'), { upgrade: lock !== undefined });
    try {
      await work(database);
    } finally {
      await database.close();
    }
  } finally {
    lock?.release();
  }
}

function tryLock(path: string): ReturnType<typeof lockInstance> | undefined {
  try {
    return lockInstance(path);
  } catch (error) {
    if (error instanceof SecboxError && error.code === 'data_dir_in_use') return undefined;
    throw error;
  }
}

function inDays(text: string): string {
  const days = Number(text);
  if (!/^\d{1,5}$/.test(text) || days < 1) {
    throw new SecboxError('invalid_request', `--days takes a whole number from 1 to 99999, not ${text}.`);
  }
  return new Date(Date.now() + days * 86_400_000).toISOString();
}

function lineOf(key: ApiKey): string {
  const state =
    key.revoked_at !== null
      ? `revoked ${key.revoked_at}`
      : key.expires_at !== null
        ? `until ${key.expires_at}`
        : 'holds';
  return [key.key_id, key.prefix, key.tenant, key.roles.join(','), state, key.label ?? '']
    .join('  ')
    .trimEnd();
}

const nothing = () => undefined;
const silent: Logger = { error: nothing, warn: nothing, info: nothing, debug: nothing, child: () => silent };
