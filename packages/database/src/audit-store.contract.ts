import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import {
  defaultTenant,
  newExecId,
  parseProjectId,
  type ArtifactRecord,
  type ExecFilter,
  type ExecId,
  type ExecRecord,
  type ExecSubmission,
  type FinalExecStatus,
  type InputRecord,
} from '@secbox/contracts';
import type { TextPage } from './audit-store.js';
import { finishedOf, start, submissionOf, type DatabasePlace } from './exec-store.contract.js';
import type { Database } from './open-database.js';

const at = (n: number) => new Date(Date.UTC(2024, 4, 1) + n * 3_600_000).toISOString();

/** The rows of a page of a list, which is text. */
export function itemsOf({ items }: TextPage): ExecRecord[] {
  return JSON.parse(`[${Buffer.from(items).toString()}]`) as ExecRecord[];
}

/** What every database must answer about execs. */
export function describeAuditStore(name: string, makePlace: () => Promise<DatabasePlace>): void {
  describe(`audit store: ${name}`, () => {
    jest.setTimeout(60_000);
    let place: DatabasePlace;
    let database: Database;
    /** All of the default tenant, oldest first. */
    const rows: ExecRecord[] = [];

    async function insert(changes: Partial<ExecSubmission>, status?: FinalExecStatus, durationMs = 100) {
      const submission = submissionOf(changes);
      await database.execs.insert(submission);
      if (status !== undefined) {
        await database.execs.markRunning(submission.exec_id, start);
        await database.execs.finish(submission.exec_id, finishedOf(status, { duration_ms: durationMs }));
      }
      const record = await database.execs.find(submission.exec_id);
      if (!record) throw new Error('not inserted');
      return record;
    }

    beforeAll(async () => {
      place = await makePlace();
      database = await place.open();
      for (let n = 0; n < 60; n += 1) {
        const record = await insert(
          {
            project_id: parseProjectId(`p-${n % 3}`),
            task_id: `task-${n % 7}`,
            conversation_id: n % 5 === 0 ? null : `talk-${n % 5}`,
            skill_id: n % 2 === 0 ? 'shell.run' : null,
            actor: `worker-${n % 4}`,
            args: ['-lc', n === 17 ? 'echo "Zanzibar" && 雪国 100%_x' : `echo number ${n}`],
            // Several of one moment: the order must still be one.
            created_at: at(Math.floor(n / 2)),
          },
          n % 10 === 9 ? undefined : n % 6 === 0 ? 'failed' : 'succeeded',
          n,
        );
        rows.push(record);
      }
      await insert({ tenant: 'other', project_id: parseProjectId('p-0'), args: ['-lc', 'echo Zanzibar'] });
    });

    afterAll(async () => {
      await database.close();
      await place.remove();
    });

    async function all(
      filter: ExecFilter,
      order: 'asc' | 'desc',
      limit: number,
      tenant: string = defaultTenant,
    ) {
      const found: ExecRecord[] = [];
      let after: number | undefined;
      for (;;) {
        const page = await database.audit.list(tenant, filter, { order, after, limit });
        const items = itemsOf(page);
        expect(items.length).toBeLessThanOrEqual(limit);
        found.push(...items);
        after = page.after;
        if (after === undefined) return found;
      }
    }

    const textOf = ({ cmd, args }: ExecRecord) => [cmd, ...args].join(' ').toLowerCase();
    const cases: [string, ExecFilter, (row: ExecRecord) => boolean][] = [
      ['nothing', {}, () => true],
      ['task_id', { task_id: 'task-3' }, (row) => row.task_id === 'task-3'],
      ['conversation_id', { conversation_id: 'talk-1' }, (row) => row.conversation_id === 'talk-1'],
      ['project_id', { project_id: 'p-1' }, (row) => row.project_id === 'p-1'],
      ['skill_id', { skill_id: 'shell.run' }, (row) => row.skill_id === 'shell.run'],
      ['a final status', { status: 'failed' }, (row) => row.status === 'failed'],
      ['another status', { status: 'queued' }, (row) => row.status === 'queued'],
      ['actor', { actor: 'worker-2' }, (row) => row.actor === 'worker-2'],
      ['since', { since: at(10) }, (row) => row.created_at >= at(10)],
      ['until', { until: at(10) }, (row) => row.created_at < at(10)],
      [
        'a day',
        { since: '2024-05-01', until: '2024-05-02' },
        (row) => row.created_at.startsWith('2024-05-01'),
      ],
      ['another zone', { since: '2024-05-01T12:00:00+02:00' }, (row) => row.created_at >= at(10)],
      ['text that many have', { q: 'NUMBER' }, (row) => textOf(row).includes('number')],
      ['text that one has', { q: 'zanzibar' }, (row) => textOf(row).includes('zanzibar')],
      ['a part of a word', { q: 'umber 4' }, (row) => textOf(row).includes('umber 4')],
      ['text over two arguments', { q: '-lc echo' }, () => true],
      ['quotes', { q: '"Zanzibar" &&' }, (row) => textOf(row).includes('"zanzibar" &&')],
      ['signs of other languages', { q: '&& 雪国' }, (row) => textOf(row).includes('雪国')],
      ['signs of LIKE', { q: '100%_x' }, (row) => textOf(row).includes('100%_x')],
      ['LIKE itself', { q: 'z%bar' }, () => false],
      ["the index's own language", { q: 'zan* OR number' }, () => false],
      ['SQL (case 58)', { q: `x' OR '1'='1` }, () => false],
      ['SQL in an id (case 58)', { task_id: `' OR 1=1 --` }, () => false],
      [
        'all of them',
        {
          project_id: 'p-1',
          skill_id: 'shell.run',
          status: 'succeeded',
          actor: 'worker-2',
          since: at(3),
          until: at(25),
          q: 'number',
        },
        (row) =>
          row.project_id === 'p-1' &&
          row.skill_id === 'shell.run' &&
          row.status === 'succeeded' &&
          row.actor === 'worker-2' &&
          row.created_at >= at(3) &&
          row.created_at < at(25) &&
          textOf(row).includes('number'),
      ],
      [
        'a task and a text',
        { task_id: 'task-3', q: 'zanzibar' },
        (row) => row.task_id === 'task-3' && textOf(row).includes('zanzibar'),
      ],
    ];

    test.each(cases)(
      'finds by %s exactly what fits, page by page, both ways',
      async (_what, filter, fits) => {
        const expected = rows.filter(fits);
        for (const limit of [1, 7, 1000]) {
          expect(await all(filter, 'asc', limit)).toEqual(expected);
          expect(await all(filter, 'desc', limit)).toEqual(expected.toReversed());
        }
      },
    );

    test('another tenant sees its own, and no count of another (case 54)', async () => {
      for (const filter of [{}, { project_id: 'p-0' }, { q: 'zanzibar' }, { status: 'queued' }] as const) {
        expect(await all(filter, 'desc', 10, 'other')).toHaveLength(1);
        expect((await database.audit.stats('other', filter)).total.execs).toBe(1);
      }
      expect(await all({}, 'desc', 10, 'nobody')).toEqual([]);
      const [theirs] = await all({}, 'desc', 10, 'other');
      const id = theirs?.exec_id ?? newExecId();
      expect(await database.audit.find('other', id)).toEqual(theirs);
      expect(await database.audit.find(defaultTenant, id)).toBeUndefined();
    });

    test('a page ends early where rows are huge, and the next goes on', async () => {
      const args = ['-lc', `# ${'x'.repeat(3 * 1024 ** 2)}`];
      for (let n = 0; n < 6; n += 1) await insert({ tenant: 'large', args, created_at: at(n) });
      const page = await database.audit.list('large', {}, { order: 'asc', limit: 1000 });
      expect(itemsOf(page).length).toBeLessThan(6);
      expect(page.after).toBeDefined();
      expect(await all({}, 'asc', 1000, 'large')).toHaveLength(6);
    });

    describe('the files of an exec', () => {
      const artifacts: ArtifactRecord[] = [
        ...(['stdout', 'stderr'] as const).map((kind) => file({ path: `${kind}.txt`, kind })),
        file({ path: 'a' }),
        file({ path: 'é\n<b>' }),
        file({ path: '\ufffd', path_base64: '/w==' }),
        file({ path: '\ufffd' }),
        file({ path: 'link', kind: 'symlink', size: null, sha256: null, media_type: null }),
        file({ path: 'deep', kind: 'folder', sha256: null, media_type: null, dropped: 'too_deep' }),
      ];
      const inputs: InputRecord[] = [
        { path: 'data.csv', size: 3, sha256: 'a'.repeat(64) },
        { path: 'key', secret: true },
        { path: 'empty', size: 0, sha256: 'b'.repeat(64) },
      ];

      function file(changes: Partial<ArtifactRecord>): ArtifactRecord {
        return {
          path: 'x',
          kind: 'file',
          size: 2 ** 40,
          sha256: 'c'.repeat(64),
          media_type: 'text/plain',
          dropped: null,
          ...changes,
        };
      }

      async function ended(evidence: { inputs: InputRecord[]; artifacts: ArtifactRecord[] }) {
        const submission = submissionOf({ tenant: 'files' });
        await database.execs.insert(submission);
        await database.execs.finish(submission.exec_id, finishedOf('error', { evidence }));
        return submission.exec_id;
      }
      const of = (execId: ExecId) => ({ tenant: 'files', execId });

      test('come back as they were, without the output', async () => {
        const id = await ended({ inputs, artifacts });
        expect(await database.audit.inputs(of(id), { limit: 10 })).toEqual({
          items: inputs,
          after: undefined,
        });
        expect(await database.audit.artifacts(of(id), { limit: 10 })).toEqual({
          items: artifacts.slice(2),
          after: undefined,
        });
        expect((await database.audit.artifacts(of(id), { limit: 10, withOutput: true })).items).toEqual(
          artifacts,
        );
        const first = await database.audit.artifacts(of(id), { limit: 4 });
        expect(first.items).toEqual(artifacts.slice(2, 6));
        const second = await database.audit.artifacts(of(id), { limit: 4, after: first.after });
        expect(second).toEqual({ items: artifacts.slice(6), after: undefined });
      });

      test('are found by name, and names that are not UTF-8 by their bytes', async () => {
        const id = await ended({ inputs, artifacts });
        const find = (name: { path: string } | { base64: string }) =>
          database.audit.findArtifact(of(id), name);
        expect(await find({ path: 'stdout.txt' })).toEqual(artifacts[0]);
        expect(await find({ path: 'é\n<b>' })).toEqual(artifacts[3]);
        expect(await find({ base64: '/w==' })).toEqual(artifacts[4]);
        expect(await find({ path: '\ufffd' })).toEqual(artifacts[5]);
        expect(await find({ path: 'A' })).toBeUndefined();
        expect(await find({ path: '%' })).toBeUndefined();
      });

      test('may be many', async () => {
        const many = Array.from({ length: 10_000 }, (_, n) => file({ path: `file-${n}` }));
        const id = await ended({ inputs: [], artifacts: many });
        const page = await database.audit.artifacts(of(id), { limit: 1000, after: 8999 });
        expect(page.items.map(({ path }) => path)).toEqual(many.slice(9000).map(({ path }) => path));
      });

      test('are recorded with the end or not at all', async () => {
        const id = await ended({ inputs, artifacts });
        const again = finishedOf('error', { evidence: { inputs: [{ path: 'x', secret: true }], artifacts } });
        await expect(database.execs.finish(id, again)).rejects.toBeDefined();
        expect((await database.audit.inputs(of(id), { limit: 10 })).items).toEqual(inputs);

        const submission = submissionOf({ tenant: 'files' });
        await database.execs.insert(submission);
        const impossible = file({ kind: null as unknown as 'file' });
        const half = finishedOf('error', { evidence: { inputs, artifacts: [impossible] } });
        await expect(database.execs.finish(submission.exec_id, half)).rejects.toBeDefined();
        expect(await database.execs.find(submission.exec_id)).toMatchObject({ status: 'queued' });
        expect((await database.audit.inputs(of(submission.exec_id), { limit: 10 })).items).toEqual([]);
      });
    });

    describe('export', () => {
      async function exported(tenant: string, format: 'jsonl' | 'csv', filter: ExecFilter = {}) {
        const parts: Uint8Array[] = [];
        for await (const part of database.audit.export(tenant, filter, { order: 'asc', format })) {
          parts.push(part);
        }
        return Buffer.concat(parts).toString('utf8');
      }

      test('as JSON lines is what the list gives', async () => {
        const lines = (await exported(defaultTenant, 'jsonl')).trimEnd().split('\n');
        expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(rows);
        expect(await exported(defaultTenant, 'jsonl', { q: 'zanzibar' })).toContain('Zanzibar');
        expect(await exported('nobody', 'jsonl')).toBe('');
      });

      test('goes on over pieces that are full, with lines of any length', async () => {
        const args = (n: number) => ['-lc', '雪'.repeat(n % 7 === 0 ? 800_000 : 5_000)];
        for (let n = 0; n < 80; n += 1) await insert({ tenant: 'long', args: args(n), created_at: at(n) });
        const lines = (await exported('long', 'jsonl')).trimEnd().split('\n');
        expect(lines.map((line) => (JSON.parse(line) as ExecRecord).args)).toEqual(
          Array.from({ length: 80 }, (_, n) => args(n)),
        );
      });

      test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '|calc', '%x', '＝1'])(
        'as CSV leaves no formula to a spreadsheet: %j',
        async (text) => {
          const tenant = `csv-${text}`;
          await insert({ tenant, task_id: text, actor: '', conversation_id: `say "hi", ${text}\nbye` });
          const csv = await exported(tenant, 'csv');
          expect(csv).toContain(`,"'${text}",`);
          expect(csv).toContain(`,"say ""hi"", ${text}\nbye",`);
        },
      );

      test('as CSV has a header, and a field for each column in each line', async () => {
        const [header = '', ...lines] = (await exported(defaultTenant, 'csv')).split('\r\n');
        expect(header.split(',')).toEqual(Object.keys(rows[0] ?? {}));
        expect(lines.pop()).toBe('');
        expect(lines).toHaveLength(rows.length);
        expect(lines[17]).toContain('"[""-lc"",""echo \\""Zanzibar\\"" && 雪国 100%_x""]"');
      });
    });

    describe('figures', () => {
      test('count, and take percentiles that occurred', async () => {
        const {
          total,
          by_status: byStatus,
          by_day: byDay,
          by_skill: bySkill,
          by_actor: byActor,
          truncated,
        } = await database.audit.stats(defaultTenant, {});
        const ran = rows.flatMap(({ duration_ms: ms }) => (ms === null ? [] : [ms])).sort((a, b) => a - b);
        // Databases differ in which of two neighbours it is.
        const near = (share: number) => {
          const middle = (ran.length - 1) * share;
          return [ran[Math.floor(middle)], ran[Math.ceil(middle)]];
        };
        expect(total).toMatchObject({
          execs: 60,
          duration_ms: {
            min: ran[0],
            max: ran.at(-1),
            mean: Math.round(ran.reduce((sum, ms) => sum + ms, 0) / ran.length),
          },
        });
        expect(near(0.5)).toContain(total.duration_ms.p50);
        expect(near(0.95)).toContain(total.duration_ms.p95);
        const count = (groups: typeof byStatus) => groups.map(({ key, execs }) => [key, execs]);
        expect(count(byStatus)).toEqual([
          ['succeeded', 44],
          ['failed', 10],
          ['queued', 6],
        ]);
        expect(count(byDay)).toEqual([
          ['2024-05-02', 12],
          ['2024-05-01', 48],
        ]);
        expect(count(bySkill)).toEqual([
          [null, 30],
          ['shell.run', 30],
        ]);
        expect(count(byActor)).toEqual(
          ['worker-0', 'worker-1', 'worker-2', 'worker-3'].map((key) => [key, 15]),
        );
        expect(truncated).toBe(false);
        expect(byStatus.at(-1)?.duration_ms).toEqual({
          min: null,
          p50: null,
          p95: null,
          max: null,
          mean: null,
        });
      });

      test.each(cases)('count by %s what is listed', async (_what, filter, fits) => {
        const { total } = await database.audit.stats(defaultTenant, filter);
        expect(total.execs).toBe(rows.filter(fits).length);
      });
    });
  });
}
