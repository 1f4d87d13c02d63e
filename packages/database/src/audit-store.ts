import {
  tenantOfScope,
  type ArtifactRecord,
  type ExecFilter,
  type ExecId,
  type ExecRecord,
  type ExecScope,
  type ExecStats,
  type ExecTombstone,
  type ExportFormat,
  type InputRecord,
} from '@secbox/contracts';
import type { CompiledQuery, Kysely, Selectable } from 'kysely';
import { selectCounted, selectionOf, type ExecOrder } from './audit-selection.js';
import type { CommandIndex } from './command-index.js';
import { fromArtifactRow, fromInputRow } from './evidence-row.js';
import { exportHeader } from './export-line.js';
import { fromRow } from './exec-row.js';
import { ListStatements } from './list-statements.js';
import type { Reader } from './reading/reader.js';
import { seenOf, whereSeen } from './seen-execs.js';
import { selectFigures, selectGroups, statsOf, type FiguresRow, type GroupRow } from './exec-stats.js';
import type { ExecArtifactsTable, ExecInputsTable, SandboxExecsTable, Tables } from './tables.js';

/** One page of a list; `after` is the place to go on from, undefined at its end. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly after: number | undefined;
}

/** The same as text: its items with commas between them. */
export interface TextPage {
  readonly items: Uint8Array;
  readonly after: number | undefined;
}

export interface PageOptions {
  readonly after?: number | undefined;
  readonly limit: number;
}

export type ExecPageOptions = PageOptions & ExecOrder;

/** One that the asker sees; the tenant is whose turn a question takes. */
export interface ExecKey {
  readonly tenant: string;
  readonly execId: ExecId;
}

const listBytes = 8 * 1024 ** 2;
const leastListBytes = 256 * 1024;
/** A row has some 2 kB, and is taken for three times as long as long as it may have characters of several bytes. */
const usualRowBytes = 8 * 1024;
const exportBatchRows = 2000;
const exportBatchBytes = 1024 ** 2;
/** Of a piece of an export and a figure of a report, which wait for each other. */
const reportDeadlineMs = 60_000;
/** So many rows of one exec take less time than the way to the reading thread and back. */
const shortList = 128;

/** Asks about execs, of one tenant at a time and as far as the asker sees them. Nothing here writes, and nothing holds up those who do. */
export class AuditStore {
  readonly #db: Kysely<Tables>;
  readonly #reader: Reader;
  readonly #commands: Pick<CommandIndex, 'catchUp'>;
  readonly #statements: ListStatements;

  /** `db` puts the questions into SQL, and answers none but the shortest. */
  constructor(db: Kysely<Tables>, reader: Reader, commands: Pick<CommandIndex, 'catchUp'>) {
    this.#db = db;
    this.#reader = reader;
    this.#commands = commands;
    this.#statements = new ListStatements(db);
  }

  /** The rows of a page as the items of a JSON array. The database writes them: they pass through us as bytes. */
  async list(scope: ExecScope, filter: ExecFilter, options: ExecPageOptions): Promise<TextPage> {
    const { limit } = options;
    await this.#searchable(filter);
    const query = this.#statements.of('item', selectionOf(scope, filter, options), limit + 1);
    const maxBytes = Math.min(listBytes, Math.max(leastListBytes, limit * usualRowBytes));
    const tenant = tenantOfScope(scope);
    const size = { maxRows: limit, maxBytes };
    const { text, last, cut } = await this.#reader.ask({
      query,
      tenant,
      refusable: true,
      lines: true,
      ...size,
    });
    return {
      // Without the comma behind the last.
      items: text?.subarray(0, -1) ?? new Uint8Array(),
      after: cut && typeof last === 'number' ? last : undefined,
    };
  }

  async find(scope: ExecScope, execId: ExecId): Promise<ExecRecord | undefined> {
    const seen = seenOf(scope);
    const query = this.#db
      .selectFrom('sandbox_execs')
      .selectAll()
      .where('exec_id', '=', execId)
      .where('tenant', '=', seen.tenant)
      .$if(seen.own !== undefined, (rows) => rows.where((where) => where.and(whereSeen(seen))))
      .compile();
    const { rows } = await this.#reader.ask({ query, tenant: seen.tenant });
    const [row] = rows as unknown as Selectable<SandboxExecsTable>[];
    return row && fromRow(row);
  }

  /** All that an exec left behind, in the order of its manifest; its output, which comes first, only if it is wanted. */
  async artifacts(
    { tenant, execId }: ExecKey,
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
    if (limit <= shortList) {
      const { rows } = await this.#db.executeQuery(query);
      return pageOf(rows, limit, false, fromArtifactRow);
    }
    const { rows, cut } = await this.#reader.ask({ query, tenant, refusable: true });
    return pageOf(rows as unknown as Selectable<ExecArtifactsTable>[], limit, cut, fromArtifactRow);
  }

  /** The entry of this path; `base64` is that of its bytes where they are not UTF-8. */
  async findArtifact(
    { tenant, execId }: ExecKey,
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
    const { rows } = await this.#reader.ask({ query, tenant });
    const [row] = rows as unknown as Selectable<ExecArtifactsTable>[];
    return row && fromArtifactRow(row);
  }

  async findInput({ tenant, execId }: ExecKey, path: string): Promise<InputRecord | undefined> {
    const query = this.#db
      .selectFrom('sandbox_exec_inputs')
      .selectAll()
      .where('exec_id', '=', execId)
      .where('path', '=', path)
      .compile();
    const { rows } = await this.#reader.ask({ query, tenant });
    const [row] = rows as unknown as Selectable<ExecInputsTable>[];
    return row && fromInputRow(row);
  }

  /** When, why and by whom the inputs of its project were removed after it; undefined when they were not. */
  async findInputRemoval({ tenant, execId }: ExecKey): Promise<ExecTombstone | undefined> {
    const query = this.#db
      .selectFrom('sandbox_execs')
      .innerJoin('project_removals', (join) =>
        join
          .onRef('project_removals.tenant', '=', 'sandbox_execs.tenant')
          .onRef('project_removals.project_id', '=', 'sandbox_execs.project_id')
          .onRef('project_removals.through_seq', '>=', 'sandbox_execs.seq'),
      )
      .select([
        'project_removals.begun_at as files_removed_at',
        'project_removals.reason as files_removed_reason',
        'project_removals.removed_by as files_removed_by',
      ])
      .where('exec_id', '=', execId)
      .orderBy('project_removals.begun_at')
      .limit(1)
      .compile();
    const { rows } = await this.#reader.ask({ query, tenant });
    const [row] = rows as unknown as ExecTombstone[];
    return row;
  }

  async inputs({ tenant, execId }: ExecKey, { after, limit }: PageOptions): Promise<Page<InputRecord>> {
    const query = this.#db
      .selectFrom('sandbox_exec_inputs')
      .selectAll()
      .where('exec_id', '=', execId)
      .$if(after !== undefined, (rows) => rows.where('ordinal', '>', after ?? 0))
      .orderBy('ordinal')
      .limit(limit + 1)
      .compile();
    const { rows, cut } = await this.#reader.ask({ query, tenant, refusable: true });
    return pageOf(rows as unknown as Selectable<ExecInputsTable>[], limit, cut, fromInputRow);
  }

  /** Whole lines, in pieces. Each piece is a question of its own: a slow reader holds no view of the database open. */
  async *export(
    scope: ExecScope,
    filter: ExecFilter,
    { order, format }: { readonly order: 'asc' | 'desc'; readonly format: ExportFormat },
  ): AsyncGenerator<Uint8Array> {
    await this.#searchable(filter);
    const header = exportHeader(format);
    if (header !== '') yield new TextEncoder().encode(header);
    const how = { ...reportOf(scope), lines: true, maxBytes: exportBatchBytes };
    const ask = (after: number | undefined) => {
      const selection = selectionOf(scope, filter, { order, after });
      const query = this.#statements.of(format, selection, exportBatchRows);
      // Only one that has not begun is refused.
      return this.#reader.ask({ query, ...how, refusable: after === undefined });
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

  async stats(scope: ExecScope, filter: ExecFilter): Promise<ExecStats> {
    await this.#searchable(filter);
    const execs = () => selectCounted(this.#db, scope, filter);
    const ask = async <Row>(figures: { compile(): CompiledQuery }) => {
      const query = figures.compile();
      const { rows } = await this.#reader.ask({ query, ...reportOf(scope), refusable: true });
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

  async #searchable({ q }: ExecFilter): Promise<void> {
    if (q !== undefined) await this.#commands.catchUp();
  }
}

function reportOf(scope: ExecScope) {
  return { tenant: tenantOfScope(scope), long: true, deadlineMs: reportDeadlineMs };
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
