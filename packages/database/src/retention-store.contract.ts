import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import {
  defaultTenant,
  newExecId,
  parseProjectId,
  parseTenantId,
  type ExecId,
  type ExecSubmission,
} from '@secbox/contracts';
import { finishedOf, start, submissionOf, type DatabasePlace } from './exec-store.contract.js';
import type { Database } from './open-database.js';

const tombstone = { at: '2024-06-01T00:00:00.000Z', reason: 'retention', by: 'settings:3' } as const;
const columns = {
  files_removed_at: tombstone.at,
  files_removed_reason: 'retention',
  files_removed_by: 'settings:3',
};
const keptColumns = { files_removed_at: null, files_removed_reason: null, files_removed_by: null };
const key = (projectId: string, tenant = defaultTenant) => ({ tenant, projectId: parseProjectId(projectId) });
const minute = (n: number) => `2024-05-01T10:${String(n).padStart(2, '0')}:00.000Z`;
const folder = '/data/projects/';

/** What every database must do when files are removed. */
export function describeRetentionStore(name: string, makePlace: () => Promise<DatabasePlace>): void {
  describe(`retention store: ${name}`, () => {
    jest.setTimeout(60_000);
    let place: DatabasePlace;
    let database: Database;

    beforeEach(async () => {
      place = await makePlace();
      database = await place.open();
    });
    afterEach(async () => {
      await database.close();
      await place.remove();
    });

    async function insert(
      changes: Partial<Omit<ExecSubmission, 'project_id'>> & { project_id?: string } = {},
      contents: readonly string[] = [],
    ): Promise<ExecId> {
      const submission = submissionOf({
        ...changes,
        project_id: parseProjectId(changes.project_id ?? 'p'),
      });
      await database.execs.insert(submission, contents);
      return submission.exec_id;
    }
    async function ended(at: string, changes: Parameters<typeof insert>[0] = {}): Promise<ExecId> {
      const execId = await insert({ created_at: at, ...changes });
      await database.execs.markRunning(execId, start);
      await database.execs.finish(execId, finishedOf('succeeded', { ended_at: at }));
      return execId;
    }
    const find = (execId: ExecId) => database.execs.find(execId);

    describe('execs by their age', () => {
      test('are those that ended before the moment, the oldest first, page by page', async () => {
        const ids: ExecId[] = [];
        for (const n of [3, 1, 2, 2, 9]) ids.push(await ended(minute(n)));
        await insert();
        const seen: ExecId[] = [];
        let after;
        do {
          const page = await database.retention.agedExecs(minute(9), { after, limit: 2 });
          seen.push(...page.map(({ execId }) => execId));
          after = page.length === 2 ? page.at(-1) : undefined;
        } while (after);
        const [three, one, two, twoToo] = ids;
        expect(seen).toEqual([one, two, twoToo, three]);
      });

      test('tell where their files are, of whichever tenant', async () => {
        const tenant = parseTenantId('other');
        const execId = await ended(minute(1), { tenant, artifacts_path: '/x' });
        expect(await database.retention.agedExecs(minute(2), { limit: 10 })).toMatchObject([
          { execId, tenant, projectId: 'p', artifactsPath: '/x' },
        ]);
      });

      test('get a tombstone once, and are noted until they are settled', async () => {
        const execId = await ended(minute(1));
        expect(await find(execId)).toMatchObject(keptColumns);
        expect(await database.retention.entombExecs([execId], tombstone)).toEqual([execId]);
        expect(await find(execId)).toMatchObject({ status: 'succeeded', ...columns });
        expect(await database.audit.find(defaultTenant, execId)).toMatchObject(columns);
        const later = { ...tombstone, at: minute(50), by: 'somebody' };
        expect(await database.retention.entombExecs([execId, newExecId()], later)).toEqual([]);
        expect(await find(execId)).toMatchObject(columns);
        expect(await database.retention.agedExecs(minute(9), { limit: 9 })).toEqual([]);

        await database.close();
        database = await place.open();
        expect(await database.retention.leftovers(10)).toMatchObject([{ execId, projectId: 'p' }]);
        await database.retention.settle([execId]);
        expect(await database.retention.leftovers(10)).toEqual([]);
      });

      test('have their tombstone in exports', async () => {
        const execId = await ended(minute(1));
        await database.retention.entombExecs([execId], tombstone);
        const texts = { jsonl: '', csv: '' };
        for (const format of ['jsonl', 'csv'] as const) {
          for await (const text of database.audit.export(defaultTenant, {}, { order: 'asc', format }))
            texts[format] += Buffer.from(text).toString();
        }
        expect(JSON.parse(texts.jsonl)).toEqual(await find(execId));
        expect(texts.csv).toContain(`,${tombstone.at},retention,"settings:3"`);
      });

      test.each(['queued', 'running'] as const)('get none while they are %s', async (status) => {
        const execId = await insert();
        if (status === 'running') await database.execs.markRunning(execId, start);
        expect(await database.retention.entombExecs([execId], tombstone)).toEqual([]);
        expect(await find(execId)).toMatchObject({ status, ...keptColumns });
        expect(await database.retention.leftovers(10)).toEqual([]);
      });
    });

    describe('projects', () => {
      test('are listed by their ids, page by page, with how much and when they were used', async () => {
        for (const id of ['b', 'a', 'c', 'a']) await ended(minute(1), { project_id: id });
        await insert({ project_id: 'a', created_at: minute(5) });
        await ended(minute(1), { project_id: 'z', tenant: 'other' });
        const first = await database.retention.projects(defaultTenant, { limit: 2 });
        expect(first).toEqual({
          items: [
            { project_id: 'a', execs: 3, last_used_at: minute(5) },
            { project_id: 'b', execs: 1, last_used_at: minute(1) },
          ],
          after: 'b',
        });
        expect(await database.retention.projects(defaultTenant, { after: 'b', limit: 2 })).toEqual({
          items: [{ project_id: 'c', execs: 1, last_used_at: minute(1) }],
          after: undefined,
        });
        expect(await database.retention.lastUse(key('a'))).toBe(minute(5));
        expect(await database.retention.lastUse(key('z'))).toBeUndefined();
      });

      test('that are removed are gone, and begin anew with their next exec', async () => {
        await ended(minute(1));
        await ended(minute(1), { project_id: 'q' });
        const removal = await database.retention.beginRemoval(key('p'), 'project', tombstone);
        expect(await database.retention.unfinishedRemovals()).toEqual([removal]);
        expect(removal).toMatchObject({ ...key('p'), ...tombstone, scope: 'project' });
        expect(await database.retention.lastUse(key('p'))).toBeUndefined();
        await database.retention.endRemoval(removal, minute(9));
        expect(await database.retention.unfinishedRemovals()).toEqual([]);
        const ids = async () =>
          (await database.retention.projects(defaultTenant, { limit: 9 })).items.map(
            (item) => item.project_id,
          );
        expect(await ids()).toEqual(['q']);

        const next = await ended(minute(20));
        expect(await database.retention.lastUse(key('p'))).toBe(minute(20));
        expect((await database.retention.projects(defaultTenant, { limit: 1 })).items).toEqual([
          { project_id: 'p', execs: 1, last_used_at: minute(20) },
        ]);
        await database.retention.entombProject(removal, { folder, limit: 9 });
        expect(await find(next)).toMatchObject(keptColumns);
      });

      test('are used by a change of their files too, told once a minute', async () => {
        await ended(minute(1));
        const listed = async () => (await database.retention.projects(defaultTenant, { limit: 9 })).items;
        for (const [at, used] of [
          ['2024-05-01T10:00:30.000Z', minute(1)],
          [minute(5), minute(5)],
          ['2024-05-01T10:05:59.000Z', minute(5)],
          [minute(6), minute(6)],
        ] as const) {
          await database.retention.noteChange(key('p'), at);
          expect(await database.retention.lastUse(key('p'))).toBe(used);
          expect(await listed()).toEqual([{ project_id: 'p', execs: 1, last_used_at: used }]);
        }
        await database.retention.noteChange(key('q'), minute(5));
        expect(await database.retention.lastUse(key('q'))).toBeUndefined();
        expect(await listed()).toHaveLength(1);
      });

      test('that lost their inputs are still there', async () => {
        await ended(minute(1));
        await database.retention.beginRemoval(key('p'), 'inputs', tombstone);
        expect(await database.retention.lastUse(key('p'))).toBe(minute(1));
      });

      test.each(['queued', 'running'] as const)('are not removed while an exec is %s', async (status) => {
        const execId = await insert();
        if (status === 'running') await database.execs.markRunning(execId, start);
        await expect(database.retention.beginRemoval(key('p'), 'project', tombstone)).rejects.toMatchObject({
          code: 'project_in_use',
          details: { exec_id: execId },
        });
        expect(await database.retention.unfinishedRemovals()).toEqual([]);
      });

      test('give all their execs a tombstone, some at a time; those with files elsewhere keep theirs', async () => {
        const ids = [await ended(minute(1)), await ended(minute(2)), await ended(minute(3))];
        const elsewhere = await ended(minute(4), { artifacts_path: '/elsewhere/x' });
        const other = await ended(minute(5), { project_id: 'q' });
        const foreign = await ended(minute(5), { tenant: 'other' });
        const [early = newExecId()] = ids;
        const before = { at: minute(30), reason: 'retention', by: null } as const;
        await database.retention.entombExecs([early], before);
        const deleted = { ...tombstone, reason: 'deleted' } as const;
        const removal = await database.retention.beginRemoval(key('p'), 'project', deleted);
        let execs = 0;
        let after: number | undefined;
        do {
          const step = await database.retention.entombProject(removal, { folder, after, limit: 2 });
          execs += step.execs;
          after = step.after;
        } while (after !== undefined);
        expect(execs).toBe(2);
        expect(await find(early)).toMatchObject({ files_removed_at: minute(30) });
        for (const id of ids.slice(1))
          expect(await find(id)).toMatchObject({ ...columns, files_removed_reason: 'deleted' });
        for (const id of [elsewhere, other, foreign]) expect(await find(id)).toMatchObject(keptColumns);
      });
    });

    describe('contents', () => {
      test('belong to every project that brought them, once', async () => {
        await insert({}, ['one', 'two']);
        await insert({}, ['two', 'three']);
        await insert({ project_id: 'q' }, ['three']);
        await insert({ tenant: 'other' }, ['one']);
        const told = await database.retention.contents(key('p'), 10);
        expect([...told].sort((a, b) => a.sha256.localeCompare(b.sha256))).toEqual([
          { sha256: 'one', shared: false },
          { sha256: 'three', shared: true },
          { sha256: 'two', shared: false },
        ]);
        expect(await database.retention.contents(key('p'), 2)).toHaveLength(2);
        await database.retention.forgetContents(key('p'), ['three']);
        expect(await database.retention.contents(key('q'), 10)).toEqual([{ sha256: 'three', shared: false }]);
        expect(await database.retention.contents(key('p'), 10)).toHaveLength(2);
      });

      test('are brought by a change of files too, whenever the one before was', async () => {
        await insert({}, ['one']);
        await database.retention.noteChange(key('q'), minute(1), 'one');
        await database.retention.noteChange(key('q'), minute(1), 'two');
        expect(await database.retention.contents(key('p'), 10)).toEqual([{ sha256: 'one', shared: true }]);
        expect(await database.retention.contents(key('q'), 10)).toEqual([
          { sha256: 'one', shared: true },
          { sha256: 'two', shared: false },
        ]);
      });

      test('of a row that is not written are nobody’s', async () => {
        const key1 = { idempotency_key: 'k' };
        await insert(key1);
        await expect(insert(key1, ['one'])).rejects.toBeDefined();
        expect(await database.retention.contents(key('p'), 10)).toEqual([]);
      });
    });
  });
}
