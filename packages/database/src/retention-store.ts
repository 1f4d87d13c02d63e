import { randomUUID } from 'node:crypto';
import {
  execStatuses,
  isFinal,
  parseExecId,
  parseProjectId,
  parseTenantId,
  SecboxError,
  tenantOfScope,
  type ExecId,
  type ExecScope,
  type ExecTombstone,
  type ProjectId,
  type ProjectSummary,
  type RemovalReason,
  type TenantId,
} from '@secbox/contracts';
import type { Kysely, Selectable, Transaction } from 'kysely';
import { selectProjects, type ProjectRow } from './project-selection.js';
import type { Reader } from './reading/reader.js';
import type { ProjectRemovalsTable, Tables } from './tables.js';

/** Changes of a project's files within this time count as one. */
const changesApartMs = 60_000;

const unfinished = execStatuses.filter((status) => !isFinal(status));

export interface ProjectKey {
  readonly tenant: TenantId;
  readonly projectId: ProjectId;
}

/** An exec that is over, and where its files were put. */
export interface EndedPlace extends ProjectKey {
  readonly execId: ExecId;
  readonly artifactsPath: string;
}

/** A place in the order of {@link RetentionStore.agedExecs}. */
export interface AgedPosition {
  readonly endedAt: string;
  readonly seq: number;
}

export interface Tombstone {
  readonly at: string;
  readonly reason: RemovalReason;
  readonly by: string | null;
}

/** A removal of a whole project or of its inputs, from its beginning until the files are out of everyone's reach. */
export interface ProjectRemovalRecord extends ProjectKey, Tombstone {
  readonly removalId: string;
  readonly scope: 'project' | 'inputs';
  readonly throughSeq: number;
}

/** What was removed and what is to be: tombstones come first, with a note of what is left to do. */
export class RetentionStore {
  readonly #db: Kysely<Tables>;
  readonly #reader: Reader;

  constructor(db: Kysely<Tables>, reader: Reader) {
    this.#db = db;
    this.#reader = reader;
  }

  /** Execs that ended before a moment and have no tombstone, those that ended first before the others. */
  async agedExecs(
    endedBefore: string,
    { after, limit }: { readonly after?: AgedPosition | undefined; readonly limit: number },
  ): Promise<readonly (EndedPlace & AgedPosition)[]> {
    const rows = await this.#db
      .selectFrom('sandbox_execs')
      .select(['seq', 'exec_id', 'tenant', 'project_id', 'artifacts_path', 'ended_at'])
      .where('files_removed_at', 'is', null)
      .where('ended_at', '<', endedBefore)
      .$if(after !== undefined, (query) =>
        query.where((where) =>
          where.and([
            where('ended_at', '>=', after?.endedAt ?? ''),
            where.or([where('ended_at', '>', after?.endedAt ?? ''), where('seq', '>', after?.seq ?? 0)]),
          ]),
        ),
      )
      .orderBy('ended_at')
      .orderBy('seq')
      .limit(limit)
      .execute();
    return rows.map((row) => ({ ...placeOf(row), endedAt: row.ended_at ?? '', seq: row.seq }));
  }

  /** Gives these execs a tombstone, and notes that their files are still there; those that have one, or are not over, are left alone. */
  async entombExecs(execIds: readonly ExecId[], tombstone: Tombstone): Promise<readonly ExecId[]> {
    return this.#db.transaction().execute(async (transaction) => {
      const rows = await transaction
        .updateTable('sandbox_execs')
        .set(columnsOf(tombstone))
        .where('exec_id', 'in', [...execIds])
        .where('files_removed_at', 'is', null)
        .where('status', 'not in', unfinished)
        .returning('exec_id')
        .execute();
      const left = rows.map(({ exec_id }) => ({ exec_id: parseExecId(exec_id) }));
      if (left.length > 0) await transaction.insertInto('sandbox_exec_leftovers').values(left).execute();
      return left.map(({ exec_id: execId }) => execId);
    });
  }

  /** Execs with a tombstone whose files may still be there. */
  async leftovers(limit: number): Promise<readonly EndedPlace[]> {
    const rows = await this.#db
      .selectFrom('sandbox_exec_leftovers')
      .innerJoin('sandbox_execs', 'sandbox_execs.exec_id', 'sandbox_exec_leftovers.exec_id')
      .select(['sandbox_execs.exec_id', 'tenant', 'project_id', 'artifacts_path'])
      .limit(limit)
      .execute();
    return rows.map(placeOf);
  }

  /** Their files are gone. */
  async settle(execIds: readonly ExecId[]): Promise<void> {
    await this.#db
      .deleteFrom('sandbox_exec_leftovers')
      .where('exec_id', 'in', [...execIds])
      .execute();
  }

  /** Projects that have execs of the scope, in the order of their ids; `after` is the id to go on from, undefined at the end. */
  async projects(
    scope: ExecScope<TenantId>,
    { after, limit }: { readonly after?: string | undefined; readonly limit: number },
  ): Promise<{ readonly items: readonly ProjectSummary[]; readonly after: string | undefined }> {
    const query = selectProjects(scope, after ?? '', limit + 1).compile(this.#db);
    const { rows } = await this.#reader.ask({ query, tenant: tenantOfScope(scope) });
    const page = (rows as unknown as ProjectRow[]).slice(0, limit);
    return {
      items: page.flatMap(({ project_id: id, execs, last_used_at: at, changed_at: changedAt }) =>
        at === null
          ? []
          : [{ project_id: parseProjectId(id), execs, last_used_at: laterOf(at, changedAt ?? '') }],
      ),
      after: rows.length > limit ? page.at(-1)?.project_id : undefined,
    };
  }

  /** When the project was used last, by an exec or a change of its files; undefined when there is none, or none any more. */
  async lastUse(project: ProjectKey): Promise<string | undefined> {
    const last = await lastExec(this.#db, project);
    if (!last || last.seq <= (await removedThrough(this.#db, project))) return undefined;
    return laterOf(last.ended_at ?? last.created_at, (await this.#changedAt(project)) ?? '');
  }

  /** Files of the project are about to be changed by a call; `sha256` is that of the content which it brings, if it is kept. */
  async noteChange({ tenant, projectId }: ProjectKey, at: string, sha256?: string): Promise<void> {
    const before = await this.#changedAt({ tenant, projectId });
    const known = before !== undefined && Date.parse(at) - Date.parse(before) < changesApartMs;
    if (known && sha256 === undefined) return;
    const project = { tenant, project_id: projectId };
    await this.#db.transaction().execute(async (transaction) => {
      if (sha256 !== undefined) {
        await transaction
          .insertInto('project_contents')
          .values({ ...project, sha256 })
          .onConflict((conflict) => conflict.doNothing())
          .execute();
      }
      if (known) return;
      await transaction
        .insertInto('project_changes')
        .values({ ...project, changed_at: at })
        .onConflict((conflict) => conflict.columns(['tenant', 'project_id']).doUpdateSet({ changed_at: at }))
        .execute();
    });
  }

  async #changedAt({ tenant, projectId }: ProjectKey): Promise<string | undefined> {
    const changed = await this.#db
      .selectFrom('project_changes')
      .select('changed_at')
      .where('tenant', '=', tenant)
      .where('project_id', '=', projectId)
      .executeTakeFirst();
    return changed?.changed_at;
  }

  /** Notes that a removal begins; throws when the project has an exec that is not over. */
  async beginRemoval(
    { tenant, projectId }: ProjectKey,
    scope: ProjectRemovalRecord['scope'],
    { at, reason, by }: Tombstone,
  ): Promise<ProjectRemovalRecord> {
    return this.#db.transaction().execute(async (transaction) => {
      const busy = await transaction
        .selectFrom('sandbox_execs')
        .select('exec_id')
        .where('tenant', '=', tenant)
        .where('project_id', '=', projectId)
        .where('status', 'in', unfinished)
        .limit(1)
        .executeTakeFirst();
      if (busy) {
        throw new SecboxError('project_in_use', `Exec ${busy.exec_id} of project ${projectId} is not over.`, {
          details: { project_id: projectId, exec_id: busy.exec_id },
        });
      }
      const last = await lastExec(transaction, { tenant, projectId });
      const row: Selectable<ProjectRemovalsTable> = {
        removal_id: randomUUID(),
        tenant,
        project_id: projectId,
        scope,
        reason,
        removed_by: by,
        begun_at: at,
        ended_at: null,
        through_seq: last?.seq ?? 0,
      };
      await transaction.insertInto('project_removals').values(row).execute();
      return fromRemovalRow(row);
    });
  }

  async unfinishedRemovals(): Promise<readonly ProjectRemovalRecord[]> {
    const rows = await this.#db
      .selectFrom('project_removals')
      .selectAll()
      .where('ended_at', 'is', null)
      .orderBy('begun_at')
      .execute();
    return rows.map(fromRemovalRow);
  }

  async endRemoval({ removalId }: ProjectRemovalRecord, at: string): Promise<void> {
    await this.#db
      .updateTable('project_removals')
      .set({ ended_at: at })
      .where('removal_id', '=', removalId)
      .execute();
  }

  /**
   * Gives the next execs of a removed project their tombstones, as far as their files were in this folder;
   * `after` is the row to go on from, undefined at the end.
   */
  async entombProject(
    { tenant, projectId, throughSeq, at, reason, by }: ProjectRemovalRecord,
    {
      folder,
      after = -1,
      limit,
    }: { readonly folder: string; readonly after?: number | undefined; readonly limit: number },
  ): Promise<{ readonly execs: number; readonly after: number | undefined }> {
    const rows = await this.#db
      .selectFrom('sandbox_execs')
      .select(['seq', 'artifacts_path', 'files_removed_at'])
      .where('tenant', '=', tenant)
      .where('project_id', '=', projectId)
      .where('seq', '>', after)
      .where('seq', '<=', throughSeq)
      .orderBy('seq')
      .limit(limit)
      .execute();
    const due = rows
      .filter(({ artifacts_path: path, files_removed_at: gone }) => gone === null && path.startsWith(folder))
      .map(({ seq }) => seq);
    if (due.length > 0) {
      await this.#db
        .updateTable('sandbox_execs')
        .set(columnsOf({ at, reason, by }))
        .where('seq', 'in', due)
        .where('files_removed_at', 'is', null)
        .execute();
    }
    return { execs: due.length, after: rows.length === limit ? rows.at(-1)?.seq : undefined };
  }

  /** Contents that a project brought, and whether another one did too. */
  async contents(
    { tenant, projectId }: ProjectKey,
    limit: number,
  ): Promise<readonly { readonly sha256: string; readonly shared: boolean }[]> {
    const rows = await this.#db
      .selectFrom('project_contents')
      .select(['sha256'])
      .select((select) =>
        select
          .exists(
            select
              .selectFrom('project_contents as others')
              .select('others.sha256')
              .whereRef('others.tenant', '=', 'project_contents.tenant')
              .whereRef('others.sha256', '=', 'project_contents.sha256')
              .where('others.project_id', '<>', projectId),
          )
          .as('shared'),
      )
      .where('tenant', '=', tenant)
      .where('project_id', '=', projectId)
      .orderBy('sha256')
      .limit(limit)
      .execute();
    return rows.map(({ sha256, shared }) => ({ sha256, shared: Boolean(shared) }));
  }

  /** These are not the project's any more. */
  async forgetContents({ tenant, projectId }: ProjectKey, sha256s: readonly string[]): Promise<void> {
    await this.#db
      .deleteFrom('project_contents')
      .where('tenant', '=', tenant)
      .where('project_id', '=', projectId)
      .where('sha256', 'in', [...sha256s])
      .execute();
  }
}

function laterOf(one: string, other: string): string {
  return one > other ? one : other;
}

function lastExec(db: Kysely<Tables> | Transaction<Tables>, { tenant, projectId }: ProjectKey) {
  return db
    .selectFrom('sandbox_execs')
    .select(['seq', 'created_at', 'ended_at'])
    .where('tenant', '=', tenant)
    .where('project_id', '=', projectId)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
}

async function removedThrough(db: Kysely<Tables>, { tenant, projectId }: ProjectKey): Promise<number> {
  const removed = await db
    .selectFrom('project_removals')
    .select((select) => select.fn.max('through_seq').as('seq'))
    .where('tenant', '=', tenant)
    .where('project_id', '=', projectId)
    .where('scope', '=', 'project')
    .executeTakeFirst();
  return removed?.seq ?? -1;
}

function columnsOf({ at, reason, by }: Tombstone): ExecTombstone {
  return { files_removed_at: at, files_removed_reason: reason, files_removed_by: by };
}

function placeOf(row: {
  readonly exec_id: string;
  readonly tenant: string;
  readonly project_id: string;
  readonly artifacts_path: string;
}): EndedPlace {
  return {
    execId: parseExecId(row.exec_id),
    tenant: parseTenantId(row.tenant),
    projectId: parseProjectId(row.project_id),
    artifactsPath: row.artifacts_path,
  };
}

function fromRemovalRow(row: Selectable<ProjectRemovalsTable>): ProjectRemovalRecord {
  return {
    removalId: row.removal_id,
    tenant: parseTenantId(row.tenant),
    projectId: parseProjectId(row.project_id),
    scope: row.scope,
    reason: row.reason,
    by: row.removed_by,
    at: row.begun_at,
    throughSeq: row.through_seq,
  };
}
