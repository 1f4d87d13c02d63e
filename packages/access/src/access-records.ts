import type { ApiKey, KeyId, SecurityEvent, SecurityEventType, TenantId } from '@secbox/contracts';

export interface KeyWithDigest extends ApiKey {
  readonly digest: string;
}

interface Page<T> {
  readonly items: readonly T[];
  readonly after: number | undefined;
}

/** The part of the key store that access needs. What changes a key writes the event that says so with it. */
export interface KeyRecords {
  insert(key: KeyWithDigest, event: SecurityEvent): Promise<void>;
  findByPrefix(prefix: string): Promise<KeyWithDigest | undefined>;
  find(tenant: TenantId | undefined, keyId: KeyId): Promise<ApiKey | undefined>;
  list(
    tenant: TenantId,
    page: { readonly after?: number | undefined; readonly limit: number },
  ): Promise<Page<ApiKey>>;
  /** False when there was nothing to revoke any more. */
  revoke(keyId: KeyId, by: string | null, at: string, event: SecurityEvent): Promise<boolean>;
  touch(keyId: KeyId, at: string): Promise<void>;
}

/** The part of the event store that access needs. */
export interface EventRecords {
  insert(event: SecurityEvent): Promise<void>;
  recount(eventId: string, count: number, lastAt: string): Promise<void>;
  list(selection: {
    readonly tenant?: TenantId | undefined;
    readonly type?: SecurityEventType | undefined;
    readonly after?: number | undefined;
    readonly limit: number;
  }): Promise<Page<SecurityEvent>>;
}
