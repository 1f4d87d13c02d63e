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
import type { Insertable, Kysely } from 'kysely';
import { commandWaits } from './command-index.js';
import { toArtifactRow, toInputRow } from './evidence-row.js';
import { fromRow, toFinalColumns, toRow } from './exec-row.js';
import { nextSeq, seqRange } from './seq.js';
import type { ExecArtifactsTable, ExecInputsTable, Tables } from './tables.js';
import { KnownStatements, type Step, type Writer } from './writer.js';

const unfinished = execStatuses.filter((status) => !isFinal(status));

/** How many rows one statement writes: SQLite takes 32,766 values. */
const rowsAtOnce = 500;

type Row = ReturnType<typeof toRow>;

interface Finish {
  readonly execId: ExecId;
  readonly status: ExecStatus;
  readonly columns: ReturnType<typeof toFinalColumns>;
}

/** The audit rows of execs, as running writes them. A row only ever moves forward; each step is one transaction. */
export class ExecStore {
  readonly #db: Kysely<Tables>;
  readonly #writer: Writer;
  readonly #inserts: KnownStatements<Row>;
  readonly #finishes: KnownStatements<Finish>;
  readonly #inputs: KnownStatements<readonly Insertable<ExecInputsTable>[]>;
  readonly #artifacts: KnownStatements<readonly Insertable<ExecArtifactsTable>[]>;

  constructor(db: Kysely<Tables>, writer: Writer) {
    this.#db = db;
    this.#writer = writer;
    this.#inserts = new KnownStatements(
      (row) =>
        db
          .insertInto('sandbox_execs')
          .values({ seq: nextSeq(row.created_at), ...row })
          .compile(),
      (row) => {
        const { first, last } = seqRange(row.created_at);
        return [first, first, last, ...Object.values(row)];
      },
    );
    this.#finishes = new KnownStatements(
      ({ execId, status, columns }) =>
        db
          .updateTable('sandbox_execs')
          .set(columns)
          .where('exec_id', '=', execId)
          .where('status', 'in', statusesBefore(status))
          .compile(),
      ({ execId, status, columns }) => [...Object.values(columns), execId, ...statusesBefore(status)],
    );
    this.#inputs = new KnownStatements(
      (rows: readonly Insertable<ExecInputsTable>[]) =>
        db.insertInto('sandbox_exec_inputs').values(rows).compile(),
      valuesOf,
    );
    this.#artifacts = new KnownStatements(
      (rows: readonly Insertable<ExecArtifactsTable>[]) =>
        db.insertInto('sandbox_exec_artifacts').values(rows).compile(),
      valuesOf,
    );
  }

  /** `contents` are the hashes of the inputs that it brings and that are kept: its project's from now on. */
  async insert(submission: ExecSubmission, contents: readonly string[] = []): Promise<void> {
    const { tenant, project_id } = submission;
    const keep = chunksOf(contents).map((sha256s): Step => {
      const values = sha256s.map((sha256) => ({ tenant, sha256, project_id }));
      const insert = this.#db.insertInto('project_contents').values(values);
      return { query: insert.onConflict((conflict) => conflict.doNothing()).compile() };
    });
    await this.#writer.write([...this.#insertOf(toRow(submission)), ...keep]);
  }

  /** Both steps in one transaction, for an exec that starts at once. */
  async insertRunning(submission: ExecSubmission, start: ExecStart): Promise<void> {
    const row: Row = { ...toRow(submission), status: 'running', ...start };
    await this.#writer.write(this.#insertOf(row));
  }

  async markRunning(execId: ExecId, start: ExecStart): Promise<void> {
    const query = this.#db
      .updateTable('sandbox_execs')
      .set({ status: 'running', ...start })
      .where('exec_id', '=', execId)
      .where('status', 'in', statusesBefore('running'))
      .compile();
    if (!(await this.#writer.write([{ query, reaches: 1 }]))) throw refused(execId, 'running');
  }

  async finish(execId: ExecId, { evidence, ...finished }: EndedExec): Promise<void> {
    const { status } = finished;
    const columns = withoutUndefined(toFinalColumns(finished));
    const query = this.#finishes.of({ execId, status, columns }, `${status} ${shapeOf(columns)}`);
    const steps = [{ query, reaches: 1 }, ...this.#evidenceOf(execId, evidence)];
    if (!(await this.#writer.write(steps))) throw refused(execId, status);
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

  #insertOf(row: Row): Step[] {
    return [{ query: this.#inserts.of(row, shapeOf(row)) }, { query: commandWaits }];
  }

  #evidenceOf(execId: ExecId, { inputs, artifacts }: ExecEvidence): Step[] {
    const inputRows = inputs.map((input, ordinal) => toInputRow(execId, input, ordinal));
    const artifactRows = artifacts.map((artifact, ordinal) => toArtifactRow(execId, artifact, ordinal));
    return [
      ...chunksOf(inputRows).map((rows) => ({ query: this.#inputs.of(rows, String(rows.length)) })),
      ...chunksOf(artifactRows).map((rows) => ({ query: this.#artifacts.of(rows, String(rows.length)) })),
    ];
  }
}

/** As many values as the columns of all rows, in their order. */
function valuesOf(rows: readonly object[]): unknown[] {
  return rows.flatMap((row): unknown[] => Object.values(row));
}

/** An end that an earlier version spooled says nothing of what it did not know: the row keeps what it has. */
function withoutUndefined<T extends object>(columns: T): T {
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined)) as T;
}

function shapeOf(row: object): string {
  return Object.keys(row).join();
}

function chunksOf<T>(rows: readonly T[]): (readonly T[])[] {
  const chunks: (readonly T[])[] = [];
  for (let at = 0; at < rows.length; at += rowsAtOnce) chunks.push(rows.slice(at, at + rowsAtOnce));
  return chunks;
}

function refused(execId: ExecId, status: ExecStatus): SecboxError {
  return new SecboxError(
    'internal_error',
    `Exec ${execId} cannot become ${status}: it is over, or not there.`,
  );
}
