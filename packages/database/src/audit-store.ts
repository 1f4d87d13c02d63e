import type {
  ArtifactRecord,
  ExecFilter,
  ExecId,
  ExecRecord,
  ExecStats,
  ExportFormat,
  InputRecord,
} from '@secbox/contracts';
import type { CompiledQuery, Kysely, Selectable } from 'kysely';
import { selectCounted, selectExecs, type ExecOrder } from './audit-selection.js';
import { fromArtifactRow, fromInputRow } from './evidence-row.js';
import { exportHeader, exportLine } from './export-line.js';
import { fromRow } from './exec-row.js';
import type { Reader } from './reading/reader.js';
import { selectFigures, selectGroups, statsOf, type FiguresRow, type GroupRow } from './exec-stats.js';
import type { ExecArtifactsTable, ExecInputsTable, SandboxExecsTable, Tables } from './tables.js';

/** One page of a list; `after` is the place to go on from, undefined at its end. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly after: number | undefined;
}

export interface PageOptions {
  readonly after?: number | undefined;
  readonly limit: number;
}

export type ExecPageOptions = PageOptions & ExecOrder;

const exportBatchRows = 2000;
const exportBatchBytes = 1024 ** 2;
const statsDeadlineMs = 60_000;

/** Asks about execs, of one tenant at a time. Nothing here writes, and nothing holds up those who do. */
export class AuditStore {
  readonly #db: Kysely<Tables>;
  readonly #reader: Reader;

  /** `db` only puts the questions into SQL. */
  constructor(db: Kysely<Tables>, reader: Reader) {
    this.#db = db;
    this.#reader = reader;
  }

  async list(tenant: string, filter: ExecFilter, options: ExecPageOptions): Promise<Page<ExecRecord>> {
    const query = selectExecs(this.#db, tenant, filter, options)
      .selectAll('sandbox_execs')
      .limit(options.limit + 1)
      .compile();
    const { rows, cut } = await this.#reader.ask({ query });
    const page = rows.slice(0, options.limit) as unknown as Selectable<SandboxExecsTable>[];
    const more = cut || rows.length > page.length;
    return { items: page.map(fromRow), after: more ? page.at(-1)?.seq : undefined };
  }

  async find(tenant: string, execId: ExecId): Promise<ExecRecord | undefined> {
    const query = this.#db
      .selectFrom('sandbox_execs')
      .selectAll()
      .where('exec_id', '=', execId)
      .where('tenant', '=', tenant)
      .compile();
    const { rows } = await this.#reader.ask({ query });
    const [row] = rows as unknown as Selectable<SandboxExecsTable>[];
    return row && fromRow(row);
  }

  /** All that an exec left behind, in the order of its manifest; its output, which comes first, only if it is wanted. */
  async artifacts(
    execId: ExecId,
    { after, limit, withOutput = false }: PageOptions & { readonly withOutput?: boolean },
  ): Promise<Page<ArtifactRecord>> {
    const query = this.#db
      .selectFrom('sandbox_exec_artifacts')
      .selectAll()
      .where('exec_id', '=', execId)
      .$if(!withOutput, (rows) => rows.where('kind', 'not in', ['stdout', 'stderr']))
      .$if(after !== undefined, (rows) => rows.where('ordinal', '>', after ?? 0))
      .orderBy('ordinal')
      .limit(limit + 1)
      .compile();
    const { rows, cut } = await this.#reader.ask({ query });
    return pageOf(rows as unknown as Selectable<ExecArtifactsTable>[], limit, cut, fromArtifactRow);
  }

  /** The entry of this path; `base64` is that of its bytes where they are not UTF-8. */
  async findArtifact(
    execId: ExecId,
    name: { readonly path: string } | { readonly base64: string },
  ): Promise<ArtifactRecord | undefined> {
    const query = this.#db
      .selectFrom('sandbox_exec_artifacts')
      .selectAll()
      .where('exec_id', '=', execId)
      .$if('path' in name, (rows) =>
        rows.where('path', '=', 'path' in name ? name.path : '').where('path_base64', 'is', null),
      )
      .$if('base64' in name, (rows) => rows.where('path_base64', '=', 'base64' in name ? name.base64 : ''))
      .compile();
    const { rows } = await this.#reader.ask({ query });
    const [row] = rows as unknown as Selectable<ExecArtifactsTable>[];
    return row && fromArtifactRow(row);
  }

  async findInput(execId: ExecId, path: string): Promise<InputRecord | undefined> {
    const query = this.#db
      .selectFrom('sandbox_exec_inputs')
      .selectAll()
      .where('exec_id', '=', execId)
      .where('path', '=', path)
      .compile();
    const { rows } = await this.#reader.ask({ query });
    const [row] = rows as unknown as Selectable<ExecInputsTable>[];
    return row && fromInputRow(row);
  }

  async inputs(execId: ExecId, { after, limit }: PageOptions): Promise<Page<InputRecord>> {
    const query = this.#db
      .selectFrom('sandbox_exec_inputs')
      .selectAll()
      .where('exec_id', '=', execId)
      .$if(after !== undefined, (rows) => rows.where('ordinal', '>', after ?? 0))
      .orderBy('ordinal')
      .limit(limit + 1)
      .compile();
    const { rows, cut } = await this.#reader.ask({ query });
    return pageOf(rows as unknown as Selectable<ExecInputsTable>[], limit, cut, fromInputRow);
  }

  /** Whole lines, in pieces. Each piece is a question of its own: a slow reader holds no view of the database open. */
  async *export(
    tenant: string,
    filter: ExecFilter,
    { order, format }: { readonly order: 'asc' | 'desc'; readonly format: ExportFormat },
  ): AsyncGenerator<Uint8Array> {
    const header = exportHeader(format);
    if (header !== '') yield new TextEncoder().encode(header);
    const ask = (after: number | undefined) => {
      const query = selectExecs(this.#db, tenant, filter, { order, after })
        .select(['sandbox_execs.seq', exportLine(format).as('line')])
        .limit(exportBatchRows)
        .compile();
      return this.#reader.ask({ query, lines: true, maxBytes: exportBatchBytes });
    };
    // One piece is made while the one before it is on its way.
    let next = ask(undefined);
    for (;;) {
      const { text, last } = await next;
      if (typeof last !== 'number' || text === undefined) return;
      next = ask(last);
      next.catch(() => undefined);
      yield text;
    }
  }

  async stats(tenant: string, filter: ExecFilter): Promise<ExecStats> {
    const execs = () => selectCounted(this.#db, tenant, filter);
    const ask = async <Row>(figures: { compile(): CompiledQuery }) => {
      const query = figures.compile();
      const { rows } = await this.#reader.ask({ query, deadlineMs: statsDeadlineMs });
      return rows as unknown as Row[];
    };
    const [total] = await ask<FiguresRow>(selectFigures(execs()));
    return statsOf(total, {
      by_status: await ask<GroupRow>(selectGroups(execs(), 'status')),
      by_day: await ask<GroupRow>(selectGroups(execs(), 'day')),
      by_skill: await ask<GroupRow>(selectGroups(execs(), 'skill_id')),
      by_actor: await ask<GroupRow>(selectGroups(execs(), 'actor')),
    });
  }
}

function pageOf<Row extends { ordinal: number }, T>(
  rows: readonly Row[],
  limit: number,
  cut: boolean,
  read: (row: Row) => T,
): Page<T> {
  const page = rows.slice(0, limit);
  const more = cut || rows.length > limit;
  return { items: page.map(read), after: more ? page.at(-1)?.ordinal : undefined };
}
