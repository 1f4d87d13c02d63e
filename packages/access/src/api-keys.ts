import {
  newKeyId,
  parseKeyId,
  parseTenantId,
  SecboxError,
  type ApiKey,
  type ApiKeyListQuery,
  type ApiKeyPage,
  type ApiKeyRequest,
  type KeyId,
  type NewApiKey,
  type TenantId,
} from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import type { KeyRecords } from './access-records.js';
import { newKeyToken, readKeyToken, sameDigest } from './api-key-token.js';
import { isInstallationAdmin, otherTenant, principalOf, type Principal } from './principal.js';
import { newEvent, type Doer } from './security-event.js';

export interface ApiKeysOptions {
  readonly records: KeyRecords;
  readonly logger: Logger;
  readonly now: () => Date;
}

/** Why a key does not let its holder in; `key` when there is one of that name. */
export interface RefusedKey {
  readonly refused: 'missing' | 'unknown' | 'revoked' | 'expired';
  readonly key?: Pick<ApiKey, 'key_id' | 'tenant'>;
}

export type Authentication = { readonly principal: Principal } | RefusedKey;

const touchEveryMs = 60_000;
const keptTouches = 10_000;
const defaultLimit = 50;
/** Compared with where there is no key, so that it takes as long as with one. */
const nobodysDigest = '0'.repeat(64);

/** Keys are made, told, looked up and revoked here. Each use asks the records, so that a revocation holds at once. */
export class ApiKeys {
  readonly #options: ApiKeysOptions;
  readonly #touched = new Map<KeyId, number>();

  constructor(options: ApiKeysOptions) {
    this.#options = options;
  }

  async authenticate(text: string | undefined): Promise<Authentication> {
    if (text === undefined) return { refused: 'missing' };
    const token = readKeyToken(text);
    const key = token && (await this.#options.records.findByPrefix(token.prefix));
    const same = sameDigest(key?.digest ?? nobodysDigest, token?.digest ?? nobodysDigest);
    if (!key || !same) return { refused: 'unknown' };
    if (key.revoked_at !== null) return { refused: 'revoked', key };
    const now = this.#options.now();
    if (key.expires_at !== null && Date.parse(key.expires_at) <= now.getTime()) {
      return { refused: 'expired', key };
    }
    this.#touch(key.key_id, now);
    return { principal: principalOf(key) };
  }

  /** For whoever may decide it: the caller's own tenant, or any for an administrator of the installation. */
  async create(caller: Principal, address: string | null, request: ApiKeyRequest): Promise<NewApiKey> {
    const tenant = request.tenant === undefined ? caller.tenant : parseTenantId(request.tenant);
    if (tenant !== caller.tenant && !isInstallationAdmin(caller)) throw otherTenant();
    return this.make({ ...request, tenant }, { actor: caller.actor, address });
  }

  async make(request: ApiKeyRequest & { readonly tenant: TenantId }, by: Doer): Promise<NewApiKey> {
    const now = this.#options.now();
    const { token, prefix, digest } = newKeyToken();
    const key: ApiKey = {
      key_id: newKeyId(),
      tenant: request.tenant,
      roles: request.roles,
      label: request.label ?? null,
      prefix,
      user_patterns: request.user_patterns ?? null,
      agent_patterns: request.agent_patterns ?? null,
      created_at: now.toISOString(),
      created_by: by.actor,
      expires_at: expiryOf(request.expires_at, now),
      revoked_at: null,
      revoked_by: null,
      last_used_at: null,
    };
    const about = {
      tenant: key.tenant,
      subject: key.key_id,
      details: { roles: key.roles, label: key.label, prefix, expires_at: key.expires_at },
    };
    await this.#options.records.insert({ ...key, digest }, newEvent('key_created', by, about, now));
    return { ...key, key: token };
  }

  async list(
    caller: Principal,
    { tenant, cursor, limit = defaultLimit }: ApiKeyListQuery,
  ): Promise<ApiKeyPage> {
    const asked = tenant === undefined ? caller.tenant : parseTenantId(tenant);
    if (asked !== caller.tenant && !isInstallationAdmin(caller)) throw otherTenant();
    const after = cursor === undefined ? undefined : Number(cursor);
    const { items, after: next } = await this.#options.records.list(asked, { after, limit });
    return { keys: items, next_cursor: next === undefined ? null : String(next) };
  }

  /** Holds from this moment on; one that was revoked before stays as it is. */
  async revoke(caller: Principal, address: string | null, id: string): Promise<ApiKey> {
    const tenant = isInstallationAdmin(caller) ? undefined : caller.tenant;
    return this.revokeIn(tenant, parseKeyId(id), { actor: caller.actor, address });
  }

  async revokeIn(tenant: TenantId | undefined, keyId: KeyId, by: Doer): Promise<ApiKey> {
    const { records, now } = this.#options;
    const key = await records.find(tenant, keyId);
    if (!key) throw notFound(keyId);
    const at = now();
    const about = { tenant: key.tenant, subject: keyId, details: { label: key.label, prefix: key.prefix } };
    await records.revoke(keyId, by.actor, at.toISOString(), newEvent('key_revoked', by, about, at));
    const revoked = await records.find(tenant, keyId);
    if (!revoked) throw notFound(keyId);
    return revoked;
  }

  /** At most once a minute, and never in the way of the request. */
  #touch(keyId: KeyId, now: Date): void {
    const last = this.#touched.get(keyId) ?? -Infinity;
    if (now.getTime() - last < touchEveryMs) return;
    this.#touched.delete(keyId);
    this.#touched.set(keyId, now.getTime());
    const [oldest] = this.#touched.keys();
    if (this.#touched.size > keptTouches && oldest !== undefined) this.#touched.delete(oldest);
    this.#options.records.touch(keyId, now.toISOString()).catch((error: unknown) => {
      this.#options.logger.warn('key.use_not_recorded', { key_id: keyId, error });
    });
  }
}

function expiryOf(text: string | undefined, now: Date): string | null {
  if (text === undefined) return null;
  const moment = new Date(text);
  if (moment.getTime() > now.getTime()) return moment.toISOString();
  throw new SecboxError('invalid_request', '"expires_at" must be a moment that is still to come.', {
    details: { field: 'expires_at' },
  });
}

function notFound(keyId: KeyId): SecboxError {
  return new SecboxError('key_not_found', `There is no key ${keyId}.`);
}
