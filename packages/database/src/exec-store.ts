import { isFinal, SecboxError, type ExecId, type ExecRecord, type ExecStatus } from '@secbox/contracts';
import { execStatuses, type ExecSubmission, type FinishedExec } from '@secbox/contracts';
import type { Kysely } from 'kysely';
import { fromRow, toFinalColumns, toRow } from './exec-row.js';
import type { Tables } from './tables.js';

const unfinished = execStatuses.filter((status) => !isFinal(status));

/** The audit rows of execs. A row only ever moves forward: queued, running, one final status. */
export class ExecStore {
  readonly #db: Kysely<Tables>;

  constructor(db: Kysely<Tables>) {
    this.#db = db;
  }

  async insert(submission: ExecSubmission): Promise<void> {
    await this.#db.insertInto('sandbox_execs').values(toRow(submission)).execute();
  }

  async markRunning(execId: ExecId, startedAt: string): Promise<void> {
    const { numUpdatedRows } = await this.#db
      .updateTable('sandbox_execs')
      .set({ status: 'running', started_at: startedAt })
      .where('exec_id', '=', execId)
      .where('status', 'in', ['queued', 'awaiting_approval'])
      .executeTakeFirstOrThrow();
    if (numUpdatedRows !== 1n) throw refused(execId, 'running');
  }

  async finish(execId: ExecId, finished: FinishedExec): Promise<void> {
    const { numUpdatedRows } = await this.#db
      .updateTable('sandbox_execs')
      .set(toFinalColumns(finished))
      .where('exec_id', '=', execId)
      .where('status', 'in', unfinished)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows !== 1n) throw refused(execId, finished.status);
  }

  async find(execId: ExecId): Promise<ExecRecord | undefined> {
    const row = await this.#db
      .selectFrom('sandbox_execs')
      .selectAll()
      .where('exec_id', '=', execId)
      .executeTakeFirst();
    return row && fromRow(row);
  }

  async findByIdempotencyKey(key: string): Promise<ExecRecord | undefined> {
    const row = await this.#db
      .selectFrom('sandbox_execs')
      .selectAll()
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
      .orderBy('created_at')
      .execute();
    return rows.map(fromRow);
  }
}

function refused(execId: ExecId, status: ExecStatus): SecboxError {
  return new SecboxError(
    'internal_error',
    `Exec ${execId} cannot become ${status}: it is over, or not there.`,
  );
}
