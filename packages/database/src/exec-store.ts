import {
  execStatuses,
  isFinal,
  SecboxError,
  statusesBefore,
  type EndedExec,
  type ExecEvidence,
  type ExecId,
  type ExecRecord,
  type ExecStart,
  type ExecStatus,
  type ExecSubmission,
} from '@secbox/contracts';
import type { Kysely, Transaction } from 'kysely';
import { indexCommand } from './command-index.js';
import { toArtifactRow, toInputRow } from './evidence-row.js';
import { fromRow, toFinalColumns, toRow } from './exec-row.js';
import { nextSeq } from './seq.js';
import type { Tables } from './tables.js';

const unfinished = execStatuses.filter((status) => !isFinal(status));

/** How many rows one statement writes: SQLite takes 32,766 values. */
const rowsAtOnce = 500;

/** The audit rows of execs, as running writes them. A row only ever moves forward; each step is one transaction. */
export class ExecStore {
  readonly #db: Kysely<Tables>;

  constructor(db: Kysely<Tables>) {
    this.#db = db;
  }

  /** `contents` are the hashes of the inputs that it brings and that are kept: its project's from now on. */
  async insert(submission: ExecSubmission, contents: readonly string[] = []): Promise<void> {
    await this.#db.transaction().execute(async (transaction) => {
      const { seq } = await transaction
        .insertInto('sandbox_execs')
        .values({ seq: nextSeq(submission.created_at), ...toRow(submission) })
        .returning('seq')
        .executeTakeFirstOrThrow();
      await indexCommand(seq, submission).execute(transaction);
      const { tenant, project_id } = submission;
      for (const sha256s of chunksOf(contents)) {
        await transaction
          .insertInto('project_contents')
          .values(sha256s.map((sha256) => ({ tenant, sha256, project_id })))
          .onConflict((conflict) => conflict.doNothing())
          .execute();
      }
    });
  }

  async markRunning(execId: ExecId, start: ExecStart): Promise<void> {
    const { numUpdatedRows } = await this.#db
      .updateTable('sandbox_execs')
      .set({ status: 'running', ...start })
      .where('exec_id', '=', execId)
      .where('status', 'in', statusesBefore('running'))
      .executeTakeFirstOrThrow();
    if (numUpdatedRows !== 1n) throw refused(execId, 'running');
  }

  async finish(execId: ExecId, { evidence, ...finished }: EndedExec): Promise<void> {
    await this.#db.transaction().execute(async (transaction) => {
      const { numUpdatedRows } = await transaction
        .updateTable('sandbox_execs')
        .set(toFinalColumns(finished))
        .where('exec_id', '=', execId)
        .where('status', 'in', statusesBefore(finished.status))
        .executeTakeFirstOrThrow();
      if (numUpdatedRows !== 1n) throw refused(execId, finished.status);
      await insertEvidence(transaction, execId, evidence);
    });
  }

  async find(execId: ExecId): Promise<ExecRecord | undefined> {
    const row = await this.#db
      .selectFrom('sandbox_execs')
      .selectAll()
      .where('exec_id', '=', execId)
      .executeTakeFirst();
    return row && fromRow(row);
  }

  async findByIdempotencyKey(tenant: string, key: string): Promise<ExecRecord | undefined> {
    const row = await this.#db
      .selectFrom('sandbox_execs')
      .selectAll()
      .where('tenant', '=', tenant)
      .where('idempotency_key', '=', key)
      .executeTakeFirst();
    return row && fromRow(row);
  }

  /** Rows that no final status was written for, oldest first. */
  async unfinished(): Promise<ExecRecord[]> {
    const rows = await this.#db
      .selectFrom('sandbox_execs')
      .selectAll()
      .where('status', 'in', unfinished)
      .orderBy('seq')
      .execute();
    return rows.map(fromRow);
  }
}

async function insertEvidence(
  transaction: Transaction<Tables>,
  execId: ExecId,
  { inputs, artifacts }: ExecEvidence,
): Promise<void> {
  const inputRows = inputs.map((input, ordinal) => toInputRow(execId, input, ordinal));
  for (const values of chunksOf(inputRows)) {
    await transaction.insertInto('sandbox_exec_inputs').values(values).execute();
  }
  const artifactRows = artifacts.map((artifact, ordinal) => toArtifactRow(execId, artifact, ordinal));
  for (const values of chunksOf(artifactRows)) {
    await transaction.insertInto('sandbox_exec_artifacts').values(values).execute();
  }
}

function* chunksOf<T>(rows: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < rows.length; at += rowsAtOnce) yield rows.slice(at, at + rowsAtOnce);
}

function refused(execId: ExecId, status: ExecStatus): SecboxError {
  return new SecboxError(
    'internal_error',
    `Exec ${execId} cannot become ${status}: it is over, or not there.`,
  );
}
