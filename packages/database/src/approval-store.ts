import {
  parseExecId,
  SecboxError,
  type Approval,
  type ApprovalState,
  type ApprovalSummary,
  type ExecId,
  type ExecSubmission,
  type FinishedExec,
  type SecurityEvent,
  type TenantId,
} from '@secbox/contracts';
import type { Kysely, Transaction } from 'kysely';
import { fromApprovalRow, fromShown, summaryColumns } from './approval-row.js';
import { commandWaits } from './command-index.js';
import { insertDelivery } from './delivery-store.js';
import { insertEvent } from './event-row.js';
import { toFinalColumns, toRow } from './exec-row.js';
import { nextSeq } from './seq.js';
import type { Tables } from './tables.js';

export interface ApprovalPageOptions {
  readonly state?: ApprovalState | undefined;
  readonly after?: number | undefined;
  readonly limit: number;
}

type Settled = Pick<ApprovalSummary, 'decided_by' | 'decided_through' | 'decided_at' | 'decision_reason'> & {
  readonly state: Exclude<ApprovalState, 'pending'>;
};

/** How many rows one statement writes: SQLite takes 32,766 values. */
const rowsAtOnce = 500;

/**
 * Execs that wait for a human's word. Each step is one transaction with that of the exec's own row and the event that
 * tells of it, and a request leaves `pending` once, whoever else tries at the same time.
 */
export class ApprovalStore {
  readonly #db: Kysely<Tables>;

  constructor(db: Kysely<Tables>) {
    this.#db = db;
  }

  /** Records an exec as one that waits for the word; `delivery` names what a webhook is to be told of it. */
  async insert(
    submission: ExecSubmission,
    contents: readonly string[],
    approval: Approval,
    event: SecurityEvent,
    delivery?: string,
  ): Promise<void> {
    const { approval_id: _, plan, risk, ...row } = approval;
    await this.#db.transaction().execute(async (transaction) => {
      await transaction
        .insertInto('sandbox_execs')
        .values({ seq: nextSeq(submission.created_at), ...toRow(submission), status: 'awaiting_approval' })
        .execute();
      await transaction.executeQuery(commandWaits);
      for (let at = 0; at < contents.length; at += rowsAtOnce) {
        const { tenant, project_id } = submission;
        const values = contents.slice(at, at + rowsAtOnce).map((sha256) => ({ tenant, sha256, project_id }));
        await transaction
          .insertInto('project_contents')
          .values(values)
          .onConflict((conflict) => conflict.doNothing())
          .execute();
      }
      await transaction
        .insertInto('approvals')
        .values({
          seq: nextSeq(approval.requested_at, 'approvals'),
          ...row,
          shown: JSON.stringify({ plan, risk }),
        })
        .execute();
      await insertEvent(transaction, event);
      if (delivery === undefined) return;
      const about = { exec_id: submission.exec_id, created_at: event.at };
      await insertDelivery(transaction, { ...about, delivery, type: 'approval.requested' });
    });
  }

  /**
   * Takes a request out of `pending`, and its exec to `next`: on its way, or to its end. False when it was not pending
   * any more, or had expired by then; nothing is written then.
   */
  async settle(
    execId: ExecId,
    settled: Settled,
    next: 'queued' | FinishedExec,
    event: SecurityEvent,
    delivery?: string,
  ): Promise<boolean> {
    return this.#db.transaction().execute(async (transaction) => {
      const isWord = settled.state === 'approved' || settled.state === 'denied';
      const { numUpdatedRows } = await transaction
        .updateTable('approvals')
        .set(settled)
        .where('exec_id', '=', execId)
        .where('state', '=', 'pending')
        .$if(isWord, (pending) => pending.where('expires_at', '>', settled.decided_at ?? ''))
        .executeTakeFirstOrThrow();
      if (numUpdatedRows !== 1n) return false;
      const exec = await transaction
        .updateTable('sandbox_execs')
        .set(next === 'queued' ? { status: next } : toFinalColumns(next))
        .where('exec_id', '=', execId)
        .where('status', '=', 'awaiting_approval')
        .executeTakeFirstOrThrow();
      if (exec.numUpdatedRows !== 1n) {
        throw new SecboxError('internal_error', `Exec ${execId} does not wait for an approval.`);
      }
      await insertEvent(transaction, event);
      await tellSettled(transaction, execId, event, delivery);
      return true;
    });
  }

  /** For a word that was given and does not hold: what was to run is not what was shown. False when there is none such. */
  async makeVoid(execId: ExecId, event: SecurityEvent, delivery?: string): Promise<boolean> {
    return this.#db.transaction().execute(async (transaction) => {
      const { numUpdatedRows } = await transaction
        .updateTable('approvals')
        .set({ state: 'void' })
        .where('exec_id', '=', execId)
        .where('state', 'in', ['pending', 'approved'])
        .executeTakeFirstOrThrow();
      if (numUpdatedRows !== 1n) return false;
      await insertEvent(transaction, event);
      await tellSettled(transaction, execId, event, delivery);
      return true;
    });
  }

  async find(tenant: TenantId, execId: ExecId): Promise<Approval | undefined> {
    const row = await this.#db
      .selectFrom('approvals')
      .selectAll()
      .where('exec_id', '=', execId)
      .where('tenant', '=', tenant)
      .executeTakeFirst();
    if (!row) return undefined;
    const { shown, ...summary } = row;
    return { ...fromApprovalRow(summary), ...fromShown(shown) };
  }

  /** Newest first. */
  async list(
    tenant: TenantId,
    { state, after, limit }: ApprovalPageOptions,
  ): Promise<{ readonly items: readonly ApprovalSummary[]; readonly after: number | undefined }> {
    const rows = await this.#db
      .selectFrom('approvals')
      .select(summaryColumns)
      .where('tenant', '=', tenant)
      .$if(state !== undefined, (approvals) => approvals.where('state', '=', state ?? 'pending'))
      .$if(after !== undefined, (approvals) => approvals.where('seq', '<', after ?? 0))
      .orderBy('seq', 'desc')
      .limit(limit + 1)
      .execute();
    const page = rows.slice(0, limit);
    return { items: page.map(fromApprovalRow), after: rows.length > limit ? page.at(-1)?.seq : undefined };
  }

  /** Of all tenants, oldest first. */
  async pending(): Promise<ApprovalSummary[]> {
    const rows = await this.#db
      .selectFrom('approvals')
      .select(summaryColumns)
      .where('state', '=', 'pending')
      .orderBy('seq')
      .execute();
    return rows.map(fromApprovalRow);
  }

  /** Words for execs that ended without having started, though nobody cancelled them, and that are not void yet. */
  async givenInVain(): Promise<{ exec_id: ExecId; tenant: string; error_reason: string | null }[]> {
    const rows = await this.#db
      .selectFrom('approvals')
      .innerJoin('sandbox_execs as execs', 'execs.exec_id', 'approvals.exec_id')
      .select(['approvals.exec_id', 'approvals.tenant', 'execs.error_reason'])
      .where('approvals.state', '=', 'approved')
      .where('execs.status', 'in', ['rejected', 'error'])
      .where('execs.started_at', 'is', null)
      .orderBy('approvals.seq')
      .execute();
    return rows.map((row) => ({ ...row, exec_id: parseExecId(row.exec_id) }));
  }
}

async function tellSettled(
  transaction: Transaction<Tables>,
  execId: ExecId,
  { at }: SecurityEvent,
  delivery: string | undefined,
): Promise<void> {
  if (delivery === undefined) return;
  await insertDelivery(transaction, {
    delivery,
    exec_id: execId,
    created_at: at,
    type: 'approval.settled',
  });
}
