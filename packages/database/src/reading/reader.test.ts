import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import Sqlite from 'better-sqlite3';
import { CompiledQuery } from 'kysely';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ThreadedReader } from './reader.js';

let folder: string;
let reader: ThreadedReader;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-reader-'));
  const path = join(folder, 'a.db');
  const sqlite = new Sqlite(path);
  sqlite.exec('CREATE TABLE t (n INTEGER PRIMARY KEY, text)');
  sqlite.exec("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')");
  sqlite.close();
  reader = new ThreadedReader(path);
});
afterEach(async () => {
  await reader.close();
  await rm(folder, { recursive: true });
});

const ask = (sql: string, more: object = {}) => reader.ask({ query: CompiledQuery.raw(sql), ...more });
const counting = (to: number) =>
  `WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c WHERE x < ${to}) SELECT max(x) AS n FROM c`;
const long = counting(30_000_000);

describe('a reader', () => {
  test('answers many at once, each its own', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => ask(`SELECT ${n} AS n`)));
    expect(answers.map(({ rows }) => rows[0]?.['n'])).toEqual(Array.from({ length: 50 }, (_, n) => n));
  });

  test('answers short questions while many long ones wait', async () => {
    const order: string[] = [];
    const asked = [1, 2, 3].map(async (n) => {
      await ask(counting(3_000_000 + n), { long: true, deadlineMs: 100_000 });
      order.push('long');
    });
    for (let n = 0; n < 3; n += 1) {
      await ask(`SELECT ${n} AS n`);
      order.push('short');
    }
    await Promise.all(asked);
    expect(order.slice(0, 2)).toEqual(['short', 'short']);
    expect(order).toHaveLength(6);
  });

  test('serves tenants in turn, whatever one of them asks', async () => {
    const flood = Array.from({ length: 8 }, (_, n) =>
      ask(counting(1_000_000 + n), { tenant: 'a', deadlineMs: 100_000, long: n % 2 === 0 }),
    );
    let flooding = true;
    const flooded = Promise.all(flood).then(() => (flooding = false));
    for (let n = 0; n < 5; n += 1) await ask(`SELECT ${n} AS n`, { tenant: 'b' });
    await ask(counting(100_000), { tenant: 'b', long: true });
    expect(flooding).toBe(true);
    await flooded;
  });

  test('leaves a thread to others also when one tenant gave its up', async () => {
    const late = [1, 2, 3].map((n) => ask(counting(30_000_000 + n), { tenant: 'a', deadlineMs: 100 }));
    for (const { status } of await Promise.allSettled(late)) expect(status).toBe('rejected');
    await ask('SELECT 1 AS n', { tenant: 'b', deadlineMs: 2000 });
  });

  test('refuses what may be refused when too much of its tenant waits', async () => {
    const patient = { tenant: 'a', deadlineMs: 100_000 };
    const waiting = [1, 2].map((n) => ask(counting(3_000_000 + n), patient));
    for (let n = 0; n < 64; n += 1) waiting.push(ask(`SELECT ${n} AS n`, patient));
    const one = 'SELECT 100 AS n';
    await expect(ask(one, { ...patient, refusable: true })).rejects.toMatchObject({
      code: 'too_many_requests',
      details: { retry_after_seconds: 1 },
    });
    await ask(one, { ...patient, tenant: 'b', refusable: true });
    await ask(one, patient);
    await Promise.all(waiting);
  });

  test('leaves this thread free meanwhile', async () => {
    let turns = 0;
    const ticking = setInterval(() => (turns += 1), 1);
    const { rows } = await ask(counting(3_000_000), { deadlineMs: 100_000 });
    clearInterval(ticking);
    expect(rows).toEqual([{ n: 3_000_000 }]);
    expect(turns).toBeGreaterThan(5);
  });

  test('stops at so many bytes and says so', async () => {
    const all = 'SELECT n, text FROM t ORDER BY n';
    expect(await ask(all, { maxBytes: 1 })).toEqual({ rows: [{ n: 1, text: 'one' }], cut: true });
    expect(await ask(all)).toMatchObject({ cut: false });
    const lines = await ask(all, { maxBytes: 18, lines: true });
    expect({ ...lines, text: Buffer.from(lines.text ?? []).toString() }).toEqual({
      rows: [],
      text: 'onetwo',
      last: 2,
      cut: true,
    });
    expect(await ask(`${all} LIMIT 0`, { lines: true })).toMatchObject({ cut: false });
  });

  test('cannot write', async () => {
    await expect(ask("INSERT INTO t VALUES (9, 'x') RETURNING n")).rejects.toMatchObject({
      code: 'database_unavailable',
      message: expect.stringContaining('readonly'),
    });
  });

  test('tells what is wrong with a question, and answers the next', async () => {
    await expect(ask('SELECT nonsense')).rejects.toMatchObject({
      code: 'database_unavailable',
      message: expect.stringContaining('no such column'),
    });
    expect((await ask('SELECT 1 AS n')).rows).toEqual([{ n: 1 }]);
  });

  test('answers those who wait with the same question at once, and nobody who asked something else', async () => {
    const patient = { deadlineMs: 100_000 };
    const busy = [ask(counting(3_000_000), patient), ask(counting(3_000_000), patient)];
    const random = (n: number, more = {}) =>
      reader.ask({ query: CompiledQuery.raw('SELECT random() AS r, ? AS n', [n]), ...patient, ...more });
    const asked = [random(1), random(1), random(2), random(1, { maxBytes: 100 })];
    const late = random(1, { deadlineMs: 1 });
    await expect(late).rejects.toMatchObject({ code: 'query_timeout' });
    const [one, same, other, shorter] = (await Promise.all(asked)).map(({ rows }) => rows[0]);
    expect(same).toEqual(one);
    expect(other).toMatchObject({ n: 2 });
    for (const each of [other, shorter, (await random(1)).rows[0]]) expect(each?.['r']).not.toBe(one?.['r']);
    await Promise.all(busy);
  });

  test('gives up what takes too long, also what waits for a thread', async () => {
    const late = await Promise.allSettled([
      ask(long, { deadlineMs: 200 }),
      ask(long, { deadlineMs: 200 }),
      ask('SELECT 1 AS n', { deadlineMs: 100 }),
    ]);
    for (const each of late) {
      expect(each).toMatchObject({ reason: { code: 'query_timeout', kind: 'timeout' } });
    }
    // Once their threads have come to an end there are new ones.
    expect((await ask('SELECT 1 AS n', { deadlineMs: 60_000 })).rows).toEqual([{ n: 1 }]);
  });

  test('that is closed answers no more', async () => {
    await reader.close();
    await expect(ask('SELECT 1')).rejects.toMatchObject({ code: 'database_unavailable' });
  });
});

test('a database that is not there is told', async () => {
  const other = new ThreadedReader(join(folder, 'missing.db'));
  await expect(other.ask({ query: CompiledQuery.raw('SELECT 1') })).rejects.toMatchObject({
    code: 'database_unavailable',
  });
  await other.close();
});
