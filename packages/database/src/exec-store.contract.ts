import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import {
  defaultTenant,
  execStatuses,
  nextStatuses,
  noEvidence,
  type EndedExec,
  type ExecStart,
  type ExecStatus,
  type ExecSubmission,
  type FinalExecStatus,
  type FinishedExec,
  isFinal,
  newExecId,
  parseProjectId,
} from '@secbox/contracts';
import fc from 'fast-check';
import type { Database } from './open-database.js';

/** An empty database of its own for one test, which can be opened any number of times. */
export interface DatabasePlace {
  open(): Promise<Database>;
  remove(): Promise<void>;
}

const ceiling = { value: 1, layer: 'hard' } as const;

export function submissionOf(changes: Partial<ExecSubmission> = {}): ExecSubmission {
  return {
    exec_id: newExecId(),
    tenant: defaultTenant,
    actor: 'worker-1',
    project_id: parseProjectId('project-1'),
    task_id: 'task',
    conversation_id: 'conversation',
    skill_id: 'shell.run',
    skill_digest: 'd'.repeat(64),
    user_id: 'user-1',
    agent_id: 'agent@1',
    kind: 'shell',
    sandbox_type: 'docker',
    image: 'secbox/sandbox:latest',
    image_digest: `sha256:${'0'.repeat(64)}`,
    cmd: 'bash',
    args: ['-lc', 'echo hi'],
    cwd: '/workspace/work',
    env_keys: ['A', 'B'],
    policy_snapshot: {
      values: {
        net: { mode: 'none' },
        timeout_ms: 60_000,
        max_stdout_bytes: 1,
        max_stderr_bytes: 2,
        max_artifacts_bytes_total: 3,
        memory_mb: 1024,
        cpu_cores: 0.5,
        pids: 256,
        read_only_root: true,
      },
      ceilings: {
        timeout_ms: ceiling,
        max_stdout_bytes: ceiling,
        max_stderr_bytes: ceiling,
        max_artifacts_bytes_total: ceiling,
        memory_mb: ceiling,
        cpu_cores: { value: 1.5, layer: 'engine' },
        pids: ceiling,
        read_only_root: { value: true, layer: 'settings' },
      },
      sources: {
        'net.mode': 'system',
        timeout_ms: 'request',
        max_stdout_bytes: 'system',
        max_stderr_bytes: 'system',
        max_artifacts_bytes_total: 'system',
        memory_mb: 'manifest',
        cpu_cores: 'engine',
        pids: 'system',
        read_only_root: 'settings',
      },
      runtime: { value: 'runc', layer: 'engine' },
      settings_version: 7,
    },
    artifacts_path: '/data/projects/project-1/artifacts/x',
    idempotency_key: null,
    request_hash: 'a'.repeat(64),
    plan_hash: 'b'.repeat(64),
    created_at: '2024-05-01T10:00:00.000Z',
    ...changes,
  };
}

export function finishedOf(status: FinalExecStatus, changes: Partial<EndedExec> = {}): EndedExec {
  return {
    status,
    exit_code: 0,
    signal: null,
    oom: false,
    error_reason: null,
    ended_at: '2024-05-01T10:00:02.000Z',
    duration_ms: 1500,
    stdout_truncated: false,
    stderr_truncated: false,
    artifacts_truncated: false,
    cpu_ms: 12,
    peak_memory_bytes: 34,
    output_error: null,
    effects: null,
    evidence: noEvidence,
    ...changes,
  };
}

const unfinishedColumns = {
  status: 'queued',
  exit_code: null,
  signal: null,
  oom: false,
  error_reason: null,
  started_at: null,
  queue_ms: null,
  start_mode: null,
  skill_version: null,
  skill_source: null,
  ended_at: null,
  duration_ms: null,
  stdout_truncated: false,
  stderr_truncated: false,
  artifacts_truncated: false,
  cpu_ms: null,
  peak_memory_bytes: null,
  output_error: null,
  effects: null,
  files_removed_at: null,
  files_removed_reason: null,
  files_removed_by: null,
};

/** The row's part of an end. */
function columnsOf({ evidence: _, ...finished }: EndedExec): FinishedExec {
  return finished;
}

export const start: ExecStart = {
  started_at: '2024-05-01T10:00:00.500Z',
  queue_ms: 450,
  start_mode: 'cold',
};
const finalStatuses = execStatuses.filter(isFinal);
const beforeStart = nextStatuses.queued.filter(isFinal);

/** What every database must do for the audit rows of execs. */
export function describeExecStore(name: string, makePlace: () => Promise<DatabasePlace>): void {
  describe(`exec store: ${name}`, () => {
    jest.setTimeout(60_000);
    let place: DatabasePlace;
    let database: Database;
    const opened: Database[] = [];

    async function open(): Promise<Database> {
      const another = await place.open();
      opened.push(another);
      return another;
    }

    beforeEach(async () => {
      place = await makePlace();
      database = await open();
    });

    afterEach(async () => {
      for (const each of opened.splice(0)) await each.close();
      await place.remove();
    });

    async function insert(changes?: Partial<ExecSubmission>): Promise<ExecSubmission> {
      const submission = submissionOf(changes);
      await database.execs.insert(submission);
      return submission;
    }

    describe('a row comes back as it was written', () => {
      test('from its submission to its end, every column', async () => {
        const submission = await insert();
        const { exec_id: execId } = submission;
        const queued = { ...submission, ...unfinishedColumns };
        expect(await database.execs.find(execId)).toEqual(queued);

        await database.execs.markRunning(execId, start);
        expect(await database.execs.find(execId)).toEqual({
          ...queued,
          ...start,
          status: 'running',
        });

        const finished = finishedOf('failed', {
          exit_code: 139,
          signal: 'SIGSEGV',
          oom: true,
          error_reason: 'because',
          stdout_truncated: true,
          stderr_truncated: true,
          artifacts_truncated: true,
          cpu_ms: 2 ** 40,
          peak_memory_bytes: 2 ** 50,
          output_error: null,
          effects: {
            kept: true,
            reason: null,
            added: [{ path: 'a "b"\n', sha256: 'c'.repeat(64), bytes: 3 }],
            changed: [],
            deleted: [{ path: 'd', sha256: 'd'.repeat(64) }],
            conflicts: [{ path: 'e', kind: 'changed', here: null, coming: null, kept_as: 'e.conflict' }],
            skipped: [{ path: 'l', kind: 'symlink' }],
            totals: { added: 1, changed: 0, deleted: 1, conflicts: 1, skipped: 1 },
          },
        });
        await database.execs.finish(execId, finished);
        expect(await database.execs.find(execId)).toEqual({ ...queued, ...start, ...columnsOf(finished) });
      });

      test.each(['oom', 'stdout_truncated', 'stderr_truncated', 'artifacts_truncated'] as const)(
        'with %s alone set',
        async (flag) => {
          const { exec_id: execId } = await insert();
          const finished = finishedOf('error', { [flag]: true });
          await database.execs.finish(execId, finished);
          expect(await database.execs.find(execId)).toMatchObject(columnsOf(finished));
        },
      );

      test('with nothing but what it must have', async () => {
        const submission = await insert({
          task_id: null,
          conversation_id: null,
          skill_id: null,
          args: [],
          env_keys: [],
        });
        expect(await database.execs.find(submission.exec_id)).toEqual({
          ...submission,
          ...unfinishedColumns,
        });
      });

      test.each([
        ['quotes', `'"\`\\`],
        ['SQL', `x'); DROP TABLE sandbox_execs; --`],
        ['placeholders', '? $1 :name @p %s %'],
        ['Unicode', '数据 файл 😀 e\u0301 \u202e \ufeff'],
        ['lines and controls', 'a\nb\r\n\t\u0001\u001b[31m'],
        ['a number', '007'],
        ['JSON', '{"a":[1]}'],
        ['null', 'null'],
        ['empty', ''],
        ['a megabyte', 'é'.repeat(524_288)],
      ])('with %s in every text', async (_what, text) => {
        const submission = await insert({
          task_id: text,
          conversation_id: text,
          skill_id: text,
          image: text,
          cmd: text,
          args: [text, `${text}\0`],
          cwd: text,
          env_keys: [text],
          artifacts_path: text,
        });
        expect(await database.execs.find(submission.exec_id)).toEqual({
          ...submission,
          ...unfinishedColumns,
        });
        const finished = finishedOf('error', { error_reason: text, signal: text });
        await database.execs.finish(submission.exec_id, finished);
        expect(await database.execs.find(submission.exec_id)).toMatchObject(columnsOf(finished));
      });

      test('with any arguments, a lone surrogate or a NUL among them', async () => {
        await fc.assert(
          fc.asyncProperty(
            fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\ud800', '\0', '__proto__'))),
            async (args) => {
              const { exec_id: execId } = await insert({ args });
              expect((await database.execs.find(execId))?.args).toEqual(args);
            },
          ),
          { numRuns: 50 },
        );
      });

      test('with as many and as long arguments as a request may have', async () => {
        const args = Array.from({ length: 1024 }, (_, n) => String(n).repeat(2000));
        const { exec_id: execId } = await insert({ args });
        expect((await database.execs.find(execId))?.args).toEqual(args);
      });
    });

    test('an id that is not there is not found', async () => {
      await insert();
      expect(await database.execs.find(newExecId())).toBeUndefined();
    });

    test('an id is taken once, and the second attempt changes nothing', async () => {
      const submission = await insert();
      await database.execs.markRunning(submission.exec_id, start);
      const before = await database.execs.find(submission.exec_id);
      await expect(database.execs.insert({ ...submission, cmd: 'other' })).rejects.toBeDefined();
      expect(await database.execs.find(submission.exec_id)).toEqual(before);
    });

    describe('a row only moves forward', () => {
      const refused = (status: ExecStatus) => ({
        code: 'internal_error',
        message: expect.stringContaining(`cannot become ${status}`),
      });

      test.each(finalStatuses)('from running to %s', async (status) => {
        const { exec_id: execId } = await insert();
        await database.execs.markRunning(execId, start);
        await database.execs.finish(execId, finishedOf(status));
        expect(await database.execs.find(execId)).toMatchObject({ ...start, status });
      });

      test.each(finalStatuses)(
        'from queued to %s only where nothing must have run for it',
        async (status) => {
          const { exec_id: execId } = await insert();
          const finishing = database.execs.finish(execId, finishedOf(status));
          if (beforeStart.includes(status)) await finishing;
          else await expect(finishing).rejects.toMatchObject(refused(status));
          expect(await database.execs.find(execId)).toMatchObject({
            status: beforeStart.includes(status) ? status : 'queued',
            started_at: null,
          });
        },
      );

      test('one that starts at once is the same row, written in one step', async () => {
        const [queued, atOnce] = [await insert(), submissionOf()];
        await database.execs.markRunning(queued.exec_id, start);
        await database.execs.insertRunning(atOnce, start);
        const { exec_id: _, created_at: __, ...expected } = (await database.execs.find(queued.exec_id)) ?? {};
        expect(await database.execs.find(atOnce.exec_id)).toMatchObject({ ...expected, status: 'running' });
        await expect(database.execs.markRunning(atOnce.exec_id, start)).rejects.toMatchObject(
          refused('running'),
        );
        await database.execs.finish(atOnce.exec_id, finishedOf('succeeded'));
      });

      test('and does not start twice', async () => {
        const { exec_id: execId } = await insert();
        await database.execs.markRunning(execId, start);
        const before = await database.execs.find(execId);
        const again = { ...start, started_at: '2030-01-01T00:00:00.000Z' };
        await expect(database.execs.markRunning(execId, again)).rejects.toMatchObject(refused('running'));
        expect(await database.execs.find(execId)).toEqual(before);
      });

      test.each(finalStatuses)('and from %s nowhere', async (status) => {
        const { exec_id: execId } = await insert();
        await database.execs.markRunning(execId, start);
        await database.execs.finish(execId, finishedOf(status));
        const before = await database.execs.find(execId);
        await expect(database.execs.markRunning(execId, start)).rejects.toMatchObject(refused('running'));
        for (const next of finalStatuses) {
          const again = finishedOf(next, { exit_code: 99, error_reason: 'again' });
          await expect(database.execs.finish(execId, again)).rejects.toMatchObject(refused(next));
        }
        expect(await database.execs.find(execId)).toEqual(before);
      });

      test('and what is not there does not move, nor does another row in its place', async () => {
        const { exec_id: other } = await insert();
        await expect(database.execs.markRunning(newExecId(), start)).rejects.toMatchObject(
          refused('running'),
        );
        await expect(database.execs.finish(newExecId(), finishedOf('error'))).rejects.toMatchObject(
          refused('error'),
        );
        expect(await database.execs.find(other)).toMatchObject({ status: 'queued' });
      });

      test('and of many who end it at once, over several connections, exactly one does', async () => {
        const { exec_id: execId } = await insert();
        await database.execs.markRunning(execId, start);
        const connections = [database, await open(), await open()];
        const ends = Array.from({ length: 30 }, (_, n) =>
          finishedOf(finalStatuses[n % finalStatuses.length] ?? 'error', { exit_code: n }),
        );
        const results = await Promise.allSettled(
          ends.map(async (end, n) => connections[n % connections.length]?.execs.finish(execId, end)),
        );
        const winners = ends.filter((_, n) => results[n]?.status === 'fulfilled');
        expect(winners).toHaveLength(1);
        expect(await database.execs.find(execId)).toMatchObject(winners[0] ? columnsOf(winners[0]) : {});
      });

      test('and of many who start it at once exactly one does', async () => {
        const { exec_id: execId } = await insert();
        const second = await open();
        const results = await Promise.allSettled(
          Array.from({ length: 30 }, (_, n) =>
            (n % 2 === 0 ? database : second).execs.markRunning(execId, start),
          ),
        );
        expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      });
    });

    describe('unfinished rows', () => {
      test('are those without a final status, oldest first, whole', async () => {
        expect(await database.execs.unfinished()).toEqual([]);
        const minute = (n: number) => `2024-05-01T10:${String(n).padStart(2, '0')}:00.000Z`;
        const third = await insert({ created_at: minute(30) });
        const first = await insert({ created_at: minute(9) });
        const second = await insert({ created_at: minute(10) });
        for (const status of finalStatuses) {
          const { exec_id: over } = await insert({ created_at: minute(1) });
          await database.execs.markRunning(over, start);
          await database.execs.finish(over, finishedOf(status));
        }
        await database.execs.markRunning(second.exec_id, start);
        expect(await database.execs.unfinished()).toEqual([
          { ...first, ...unfinishedColumns },
          { ...second, ...unfinishedColumns, ...start, status: 'running' },
          { ...third, ...unfinishedColumns },
        ]);
      });

      test('may be many', async () => {
        for (let n = 0; n < 300; n += 1) await insert();
        expect(await database.execs.unfinished()).toHaveLength(300);
      });
    });

    test('what was acknowledged is there for the next who opens it, and for others meanwhile', async () => {
      const submission = await insert();
      const meanwhile = await open();
      expect(await meanwhile.execs.find(submission.exec_id)).toEqual({ ...submission, ...unfinishedColumns });
      await meanwhile.execs.finish(submission.exec_id, finishedOf('cancelled'));
      for (const each of opened.splice(0)) await each.close();
      expect(await (await open()).execs.find(submission.exec_id)).toMatchObject({ status: 'cancelled' });
    });

    test('a database that is well can be written', async () => {
      await insert();
      await database.checkWritable();
      expect(await database.execs.unfinished()).toHaveLength(1);
    });
  });
}
