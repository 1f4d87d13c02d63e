import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  defaultTenant,
  parseProjectId,
  type ExecFilter,
  type ExecRecord,
  type LimitedScope,
} from '@secbox/contracts';
import { itemsOf } from './audit-store.contract.js';
import { finishedOf, start, submissionOf, type DatabasePlace } from './exec-store.contract.js';
import type { Database } from './open-database.js';

const at = (n: number) => new Date(Date.UTC(2024, 4, 1) + n * 1000).toISOString();

/** What every database must show, and not show, a key that is limited to users and agents (case 54). */
export function describeSeenExecs(name: string, makePlace: () => Promise<DatabasePlace>): void {
  describe(`execs that a limited key sees: ${name}`, () => {
    let place: DatabasePlace;
    let database: Database;
    const rows: ExecRecord[] = [];

    const users = ['team-1', 'team-2', 'Team-1', 'team', 'other', 'my-team-1', null];
    const agents = ['a1', 'a2', 'b'];

    beforeAll(async () => {
      place = await makePlace();
      database = await place.open();
      for (let n = 0; n < 84; n += 1) {
        const user = users[n % users.length] ?? null;
        const submission = submissionOf({
          tenant: n % 12 === 11 ? 'acme' : defaultTenant,
          project_id: parseProjectId(`p-${n % 4}`),
          actor: n % 5 === 0 ? 'limited' : 'someone',
          user_id: user,
          agent_id: user === null ? null : (agents[n % agents.length] ?? null),
          args: ['-lc', `echo number ${n}`],
          created_at: at(Math.floor(n / 2)),
        });
        await database.execs.insert(submission);
        const status = n % 3 === 0 ? 'failed' : 'succeeded';
        if (n % 7 !== 0) {
          await database.execs.markRunning(submission.exec_id, start);
          await database.execs.finish(submission.exec_id, finishedOf(status));
        }
        const record = await database.execs.find(submission.exec_id);
        if (record) rows.push(record);
      }
    });

    afterAll(async () => {
      await database.close();
      await place.remove();
    });

    const key = { tenant: defaultTenant, actor: 'limited', userPatterns: null, agentPatterns: null };
    const of = (row: ExecRecord, user: RegExp, agent = /^/) =>
      row.user_id !== null && user.test(row.user_id) && agent.test(row.agent_id ?? '');
    const scopes: [string, LimitedScope, (row: ExecRecord) => boolean][] = [
      ['users', { ...key, userPatterns: ['team-*'] }, (row) => of(row, /^team-/)],
      ['one user', { ...key, userPatterns: ['team'] }, (row) => of(row, /^team$/)],
      ['several', { ...key, userPatterns: ['other', '*-team-*'] }, (row) => of(row, /^other$|-team-/)],
      ['agents', { ...key, agentPatterns: ['a*'] }, (row) => of(row, /^/, /^a/)],
      [
        'users and agents',
        { ...key, userPatterns: ['team-*'], agentPatterns: ['a1', 'b'] },
        (row) => of(row, /^team-/, /^(a1|b)$/),
      ],
      ['nobody', { ...key, userPatterns: ['t?am-*', 't[e]am'] }, () => false],
    ];
    const filters: ExecFilter[] = [
      {},
      { project_id: 'p-1' },
      { status: 'failed' },
      { status: 'queued' },
      { project_id: 'p-2', status: 'succeeded' },
      { actor: 'someone' },
      { q: 'number' },
      { since: at(10), until: at(30) },
    ];
    const matches = (filter: ExecFilter, row: ExecRecord) =>
      (filter.project_id === undefined || row.project_id === filter.project_id) &&
      (filter.status === undefined || row.status === filter.status) &&
      (filter.actor === undefined || row.actor === filter.actor) &&
      (filter.since === undefined || row.created_at >= filter.since) &&
      (filter.until === undefined || row.created_at < filter.until);

    test.each(scopes)('limited to %s: lists, counts, exports and finds no other', async (_, scope, fits) => {
      const isSeen = (row: ExecRecord) =>
        row.tenant === defaultTenant && (row.actor === 'limited' || fits(row));
      for (const filter of filters) {
        const expected = rows.filter((row) => isSeen(row) && matches(filter, row));
        for (const [order, wanted] of [
          ['asc', expected],
          ['desc', expected.toReversed()],
        ] as const) {
          const found: ExecRecord[] = [];
          let after: number | undefined;
          do {
            const page = await database.audit.list(scope, filter, { order, after, limit: 7 });
            found.push(...itemsOf(page));
            after = page.after;
          } while (after !== undefined);
          expect(found).toEqual(wanted);
        }
        expect((await database.audit.stats(scope, filter)).total.execs).toBe(expected.length);
        const lines: string[] = [];
        for await (const part of database.audit.export(scope, filter, { order: 'asc', format: 'jsonl' })) {
          lines.push(Buffer.from(part).toString());
        }
        expect(lines.join('').split('\n').length - 1).toBe(expected.length);
      }
      for (const row of rows) {
        expect((await database.audit.find(scope, row.exec_id))?.exec_id).toBe(
          isSeen(row) ? row.exec_id : undefined,
        );
      }
      const { items } = await database.retention.projects({ ...scope, tenant: defaultTenant }, { limit: 9 });
      expect(items.map(({ project_id: id, execs }) => [id, execs])).toEqual(
        ['p-0', 'p-1', 'p-2', 'p-3']
          .map((id) => [id, rows.filter((row) => isSeen(row) && row.project_id === id).length])
          .filter(([, execs]) => execs !== 0),
      );
    });

    test('without a limit all of the tenant are seen', async () => {
      const { total } = await database.audit.stats(defaultTenant, {});
      expect(total.execs).toBe(rows.filter(({ tenant }) => tenant === defaultTenant).length);
    });
  });
}
