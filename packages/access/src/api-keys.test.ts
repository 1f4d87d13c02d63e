import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { defaultTenant, newKeyId, parseTenantId, type Role } from '@secbox/contracts';
import { openDatabase, type Database } from '@secbox/database';
import { createLogger } from '@secbox/logging';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { ApiKeys } from './api-keys.js';
import { everyone, type Principal } from './principal.js';

const acme = parseTenantId('acme');
const by = { actor: 'test', address: null };
const logger = createLogger({ level: 'error', format: 'json', destination: new PassThrough() });

let folder: string;
let database: Database;
let keys: ApiKeys;
let now: Date;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-keys-'));
  database = await openDatabase(join(folder, 'secbox.db'));
  now = new Date('2024-05-01T10:00:00Z');
  keys = new ApiKeys({ records: database.keys, logger, now: () => now });
});
afterEach(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

const admin = (tenant = defaultTenant): Principal => ({
  ...everyone,
  tenant,
  actor: 'boss',
  roles: ['admin'],
});
const make = (more: { roles?: Role[]; expires_at?: string } = {}) =>
  keys.make({ tenant: acme, roles: ['worker'], ...more }, by);

describe('a key', () => {
  test('lets its holder in as what it stands for', async () => {
    const { key, key_id: id } = await keys.make(
      { tenant: acme, roles: ['worker', 'auditor'], user_patterns: ['a*'], agent_patterns: ['b'] },
      by,
    );
    expect(await keys.authenticate(key)).toEqual({
      principal: {
        tenant: acme,
        actor: id,
        roles: ['worker', 'auditor'],
        userPatterns: ['a*'],
        agentPatterns: ['b'],
      },
    });
  });

  test('is random, and nowhere in the files of the database', async () => {
    const made = [];
    for (let n = 0; n < 50; n += 1) made.push((await make()).key);
    expect(new Set(made).size).toBe(50);
    for (const key of made) expect(key).toMatch(/^sbx_[0-9a-f]{10}_[A-Za-z0-9_-]{43}$/);
    await database.close();
    const bytes = await readFile(join(folder, 'secbox.db'), 'latin1');
    for (const key of made) {
      expect(bytes).not.toContain(key.slice(15));
      expect(bytes).toContain(key.slice(0, 14));
    }
    database = await openDatabase(join(folder, 'secbox.db'));
  });

  test('that is missing, malformed, unknown or nearly right is refused', async () => {
    const { key } = await make();
    expect(await keys.authenticate(undefined)).toEqual({ refused: 'missing' });
    const last = key.endsWith('A') ? 'B' : 'A';
    const wrong = [
      '',
      'x',
      key.slice(1),
      `${key} `,
      `${key.slice(0, -1)}${last}`,
      `${key}A`,
      key.slice(0, 14),
    ];
    for (const text of wrong) expect(await keys.authenticate(text)).toEqual({ refused: 'unknown' });
  });

  test('is refused from the moment it expires', async () => {
    const { key, key_id } = await make({ expires_at: '2024-05-01T11:00:00+00:00' });
    now = new Date('2024-05-01T10:59:59.999Z');
    expect(await keys.authenticate(key)).toHaveProperty('principal');
    now = new Date('2024-05-01T11:00:00Z');
    expect(await keys.authenticate(key)).toMatchObject({ refused: 'expired', key: { key_id, tenant: acme } });
  });

  test.each(['2024-05-01T10:00:00Z', '1999-01-01T00:00:00Z', '2024-13-01T00:00:00Z'])(
    'cannot be made to expire at %s',
    async (moment) => {
      await expect(make({ expires_at: moment })).rejects.toMatchObject({ code: 'invalid_request' });
    },
  );

  test('is refused once it was revoked, at once, also by another process on the same file', async () => {
    const { key, key_id } = await make();
    const elsewhere = await openDatabase(join(folder, 'secbox.db'), { upgrade: false });
    const others = new ApiKeys({ records: elsewhere.keys, logger, now: () => now });
    expect(await keys.authenticate(key)).toHaveProperty('principal');
    await others.revokeIn(undefined, key_id, by);
    await elsewhere.close();
    expect(await keys.authenticate(key)).toMatchObject({ refused: 'revoked', key: { key_id } });
  });

  test('says when it was used last, to the minute', async () => {
    const { key, key_id } = await make();
    const used = async () => (await database.keys.find(acme, key_id))?.last_used_at;
    await keys.authenticate(key);
    expect(await used()).toBe('2024-05-01T10:00:00.000Z');
    now = new Date('2024-05-01T10:00:59Z');
    await keys.authenticate(key);
    expect(await used()).toBe('2024-05-01T10:00:00.000Z');
    now = new Date('2024-05-01T10:01:00Z');
    await keys.authenticate(key);
    expect(await used()).toBe('2024-05-01T10:01:00.000Z');
  });
});

describe('administrators', () => {
  test('make keys of their own tenant; of another only that of the installation', async () => {
    expect(await keys.create(admin(acme), '::1', { roles: ['worker'] })).toMatchObject({
      tenant: 'acme',
      created_by: 'boss',
    });
    expect(await keys.create(admin(), '::1', { tenant: 'acme', roles: ['admin'] })).toMatchObject({
      tenant: 'acme',
    });
    for (const tenant of ['default', 'new']) {
      await expect(keys.create(admin(acme), '::1', { tenant, roles: ['worker'] })).rejects.toMatchObject({
        code: 'tenant_forbidden',
      });
      await expect(keys.list(admin(acme), { tenant })).rejects.toMatchObject({ code: 'tenant_forbidden' });
    }
  });

  test("list their tenant's, page by page, without digest or key", async () => {
    const made = [];
    for (let n = 0; n < 3; n += 1) made.push((await make()).key_id);
    await keys.make({ tenant: defaultTenant, roles: ['worker'] }, by);
    const first = await keys.list(admin(acme), { limit: 2 });
    const second = await keys.list(admin(), { tenant: 'acme', limit: 2, cursor: first.next_cursor ?? '' });
    expect([...first.keys, ...second.keys].map(({ key_id: id }) => id)).toEqual(made);
    expect(second.next_cursor).toBeNull();
    expect(Object.keys(first.keys[0] ?? {})).not.toEqual(expect.arrayContaining(['digest']));
    expect(first.keys[0]).not.toHaveProperty('key');
  });

  test("revoke their tenant's, once; another's is as one that does not exist", async () => {
    const { key_id: id } = await make();
    const { key_id: foreign } = await keys.make({ tenant: defaultTenant, roles: ['worker'] }, by);
    const missing = newKeyId();
    for (const other of [foreign, missing]) {
      await expect(keys.revoke(admin(acme), null, other)).rejects.toMatchObject({
        code: 'key_not_found',
        message: `There is no key ${other}.`,
      });
    }
    const revoked = await keys.revoke(admin(acme), null, id);
    expect(revoked).toMatchObject({ revoked_at: now.toISOString(), revoked_by: 'boss' });
    now = new Date('2025-01-01T00:00:00Z');
    expect(await keys.revoke(admin(), null, id)).toEqual(revoked);
    await expect(keys.revoke(admin(), null, 'x')).rejects.toMatchObject({ code: 'invalid_id' });
  });

  test('leave an event of what they did, without the key', async () => {
    const { key, key_id: subject } = await keys.create(admin(acme), '::1', {
      roles: ['worker'],
      label: 'ci',
    });
    await keys.revoke(admin(acme), '::2', subject);
    const { items } = await database.events.list({ tenant: acme, limit: 10 });
    expect(items).toMatchObject([
      { type: 'key_revoked', tenant: 'acme', actor: 'boss', address: '::2', subject },
      {
        type: 'key_created',
        tenant: 'acme',
        actor: 'boss',
        address: '::1',
        subject,
        details: { label: 'ci' },
      },
    ]);
    expect(JSON.stringify(items)).not.toContain(key.slice(15));
  });
});
