import {
  parseKeyId,
  parseTenantId,
  type ApiKey,
  type KeyId,
  type Role,
  type SecurityEvent,
  type TenantId,
} from '@secbox/contracts';
import type { CompiledQuery, Kysely, Selectable } from 'kysely';
import { insertEvent } from './event-row.js';
import { nextSeq } from './seq.js';
import type { ApiKeysTable, Tables } from './tables.js';

export interface StoredKey extends ApiKey {
  /** SHA-256 of the key, in hexadecimal. */
  readonly digest: string;
}

/** API keys by their digests. What is done to one is written together with the event that says so. */
export class KeyStore {
  readonly #db: Kysely<Tables>;
  /** Asked with every request: put into SQL once. */
  readonly #byPrefix: CompiledQuery<Selectable<ApiKeysTable>>;

  constructor(db: Kysely<Tables>) {
    this.#db = db;
    this.#byPrefix = db.selectFrom('api_keys').selectAll().where('prefix', '=', '').compile();
  }

  async insert(key: StoredKey, event: SecurityEvent): Promise<void> {
    await this.#db.transaction().execute(async (transaction) => {
      await transaction
        .insertInto('api_keys')
        .values({ seq: nextSeq(key.created_at, 'api_keys'), ...toRow(key) })
        .execute();
      await insertEvent(transaction, event);
    });
  }

  async findByPrefix(prefix: string): Promise<StoredKey | undefined> {
    const { rows } = await this.#db.executeQuery<Selectable<ApiKeysTable>>({
      ...this.#byPrefix,
      parameters: [prefix],
    });
    const [row] = rows;
    return row && fromRow(row);
  }

  /** Of all tenants when none is given. */
  async find(tenant: TenantId | undefined, keyId: KeyId): Promise<ApiKey | undefined> {
    const row = await this.#db
      .selectFrom('api_keys')
      .selectAll()
      .where('key_id', '=', keyId)
      .$if(tenant !== undefined, (query) => query.where('tenant', '=', tenant ?? ''))
      .executeTakeFirst();
    return row && withoutDigest(fromRow(row));
  }

  /** In the order they were made; `after` is where to go on. */
  async list(
    tenant: TenantId,
    { after, limit }: { readonly after?: number | undefined; readonly limit: number },
  ): Promise<{ readonly items: readonly ApiKey[]; readonly after: number | undefined }> {
    const rows = await this.#db
      .selectFrom('api_keys')
      .selectAll()
      .where('tenant', '=', tenant)
      .$if(after !== undefined, (query) => query.where('seq', '>', after ?? 0))
      .orderBy('seq')
      .limit(limit + 1)
      .execute();
    const page = rows.slice(0, limit);
    const items = page.map((row) => withoutDigest(fromRow(row)));
    return { items, after: rows.length > limit ? page.at(-1)?.seq : undefined };
  }

  /** False when it was revoked before, or is not there; then nothing is written. */
  async revoke(keyId: KeyId, by: string | null, at: string, event: SecurityEvent): Promise<boolean> {
    return this.#db.transaction().execute(async (transaction) => {
      const { numUpdatedRows } = await transaction
        .updateTable('api_keys')
        .set({ revoked_at: at, revoked_by: by })
        .where('key_id', '=', keyId)
        .where('revoked_at', 'is', null)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows !== 1n) return false;
      await insertEvent(transaction, event);
      return true;
    });
  }

  async touch(keyId: KeyId, at: string): Promise<void> {
    await this.#db.updateTable('api_keys').set({ last_used_at: at }).where('key_id', '=', keyId).execute();
  }
}

function toRow({ roles, user_patterns, agent_patterns, ...key }: StoredKey): Omit<ApiKeysTable, 'seq'> {
  return {
    ...key,
    roles: JSON.stringify(roles),
    user_patterns: user_patterns && JSON.stringify(user_patterns),
    agent_patterns: agent_patterns && JSON.stringify(agent_patterns),
  };
}

function fromRow({ seq: _, ...row }: Selectable<ApiKeysTable>): StoredKey {
  const listOf = (json: string | null) => json && (JSON.parse(json) as string[]);
  return {
    ...row,
    key_id: parseKeyId(row.key_id),
    tenant: parseTenantId(row.tenant),
    roles: JSON.parse(row.roles) as Role[],
    user_patterns: listOf(row.user_patterns) || null,
    agent_patterns: listOf(row.agent_patterns) || null,
  };
}

function withoutDigest({ digest: _, ...key }: StoredKey): ApiKey {
  return key;
}
