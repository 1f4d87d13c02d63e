import { beforeEach, describe, expect, test } from '@jest/globals';
import { parseTenantId, type SecurityEvent } from '@secbox/contracts';
import { createLogger } from '@secbox/logging';
import { PassThrough } from 'node:stream';
import type { EventRecords } from './access-records.js';
import { everyone } from './principal.js';
import { SecurityLog, type Refusal } from './security-log.js';

/** What would be written, and how often the disk was asked. */
class RecordingEvents implements EventRecords {
  readonly events = new Map<string, SecurityEvent>();
  writes = 0;
  fails = false;

  insert(event: SecurityEvent): Promise<void> {
    this.writes += 1;
    if (this.fails) return Promise.reject(new Error('disk full'));
    this.events.set(event.event_id, event);
    return Promise.resolve();
  }

  recount(id: string, count: number, lastAt: string): Promise<void> {
    this.writes += 1;
    if (this.fails) return Promise.reject(new Error('disk full'));
    const event = this.events.get(id);
    if (event) this.events.set(id, { ...event, count, last_at: lastAt });
    return Promise.resolve();
  }

  list() {
    return Promise.resolve({ items: [...this.events.values()], after: undefined });
  }
}

let records: RecordingEvents;
let now: Date;
let log: SecurityLog;
let logged: PassThrough;
beforeEach(() => {
  records = new RecordingEvents();
  now = new Date('2024-05-01T10:00:00Z');
  logged = new PassThrough();
  const logger = createLogger({ level: 'error', format: 'json', destination: logged });
  log = new SecurityLog({ records, logger, now: () => now });
});

const refusal = (changes: Partial<Refusal> = {}): Refusal => ({
  type: 'login_refused',
  tenant: null,
  actor: null,
  address: '10.0.0.1',
  reason: 'unknown',
  ...changes,
});

describe('refusals', () => {
  test('of one asker within a minute are one event with a count', async () => {
    for (let n = 0; n < 1000; n += 1) log.refused(refusal());
    now = new Date('2024-05-01T10:00:30Z');
    log.refused(refusal());
    await log.flush();
    expect([...records.events.values()]).toMatchObject([
      { type: 'login_refused', address: '10.0.0.1', count: 1001, last_at: '2024-05-01T10:00:30.000Z' },
    ]);
    expect(records.writes).toBeLessThanOrEqual(2);
    now = new Date('2024-05-01T10:01:00Z');
    log.refused(refusal());
    await log.flush();
    expect([...records.events.values()].map(({ count }) => count)).toEqual([1001, 1]);
  });

  test('what was counted before the minute ended is written with the next', async () => {
    for (let n = 0; n < 3; n += 1) log.refused(refusal());
    now = new Date('2024-05-01T10:01:00Z');
    log.refused(refusal());
    await log.flush();
    expect([...records.events.values()].map(({ count }) => count)).toEqual([3, 1]);
  });

  test('of a flood of askers are few events, and none is lost', async () => {
    for (let n = 0; n < 5000; n += 1) log.refused(refusal({ address: `10.0.${n >> 8}.${n & 255}` }));
    await log.flush();
    const events = [...records.events.values()];
    expect(events.length).toBe(33);
    expect(events.reduce((sum, { count }) => sum + count, 0)).toBe(5000);
    expect(events.at(-1)).toMatchObject({ address: null, details: { reason: 'from many addresses' } });
    expect(records.writes).toBeLessThanOrEqual(34);
  });

  test('of a flood in one tenant hide nothing of another', async () => {
    const inTenant = (tenant: string, reason: string) =>
      log.refused(refusal({ type: 'access_refused', tenant, actor: `key of ${tenant}`, reason }));
    for (let n = 0; n < 100; n += 1) inTenant('loud', `GET /route-${n}`);
    inTenant('quiet', 'GET /settings');
    log.refused(refusal());
    await log.flush();
    const events = [...records.events.values()];
    expect(events.filter(({ tenant }) => tenant === 'loud')).toHaveLength(33);
    expect(events.slice(-2)).toMatchObject([
      { tenant: 'quiet', actor: 'key of quiet', count: 1, details: { reason: 'GET /settings' } },
      { tenant: null, address: '10.0.0.1', count: 1 },
    ]);
  });

  test('that cannot be recorded fail nobody, are in the log, and recorded with their count once they can be', async () => {
    records.fails = true;
    for (let n = 0; n < 3; n += 1) log.refused(refusal());
    await log.flush();
    expect(records.events.size).toBe(0);
    expect(String(logged.read())).toContain('"address":"10.0.0.1"');
    log.refused(refusal());
    // The minute is over, and nobody counts on.
    now = new Date('2024-05-01T10:01:00Z');
    log.refused(refusal({ address: '10.0.0.2' }));
    await log.flush();
    records.fails = false;
    await log.flush();
    expect([...records.events.values()]).toMatchObject([
      { address: '10.0.0.1', count: 4, at: '2024-05-01T10:00:00.000Z' },
      { address: '10.0.0.2', count: 1 },
    ]);
  });

  test('whose count cannot be recorded have it later', async () => {
    log.refused(refusal());
    await log.flush();
    records.fails = true;
    log.refused(refusal());
    await log.flush();
    now = new Date('2024-05-01T10:02:00Z');
    log.refused(refusal({ address: '10.0.0.2' }));
    records.fails = false;
    await log.flush();
    expect([...records.events.values()]).toMatchObject([{ count: 2 }, { address: '10.0.0.2' }]);
  });
});

describe('what was done', () => {
  const by = { actor: 'key:1', address: '10.0.0.1' };
  const about = { tenant: 'a', subject: 'agent/skill', details: { version: 'v' } };

  test('is an event each', async () => {
    await log.happened('skill_published', by, about);
    await log.happened('skill_published', by, about);
    const event = { type: 'skill_published', ...by, ...about, count: 1, at: now.toISOString() };
    expect([...records.events.values()]).toMatchObject([event, event]);
  });

  test('fails nobody when it cannot be recorded, and is recorded once it can, with its time', async () => {
    records.fails = true;
    await log.happened('skill_published', by, about);
    await log.flush();
    expect(records.events.size).toBe(0);
    records.fails = false;
    now = new Date('2024-05-01T10:01:00Z');
    await log.flush();
    await log.flush();
    expect([...records.events.values()]).toMatchObject([{ ...about, at: '2024-05-01T10:00:00.000Z' }]);
  });
});

describe('the list', () => {
  test('of the installation is for its administrators', async () => {
    const scope = 'installation';
    await expect(log.list({ ...everyone, tenant: parseTenantId('acme') }, { scope })).rejects.toMatchObject({
      code: 'tenant_forbidden',
    });
    await expect(log.list({ ...everyone, roles: ['auditor'] }, { scope })).rejects.toMatchObject({
      code: 'tenant_forbidden',
    });
    expect(await log.list(everyone, { scope })).toEqual({ events: [], next_cursor: null });
  });

  test('has the counts of this moment', async () => {
    for (let n = 0; n < 3; n += 1) log.refused(refusal());
    expect(await log.list(everyone, {})).toMatchObject({ events: [{ count: 3 }] });
  });
});
