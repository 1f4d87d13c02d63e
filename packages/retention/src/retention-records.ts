import type {
  ExecId,
  ExecScope,
  ProjectId,
  ProjectSummary,
  RemovalReason,
  TenantId,
} from '@secbox/contracts';

export interface ProjectKey {
  readonly tenant: TenantId;
  readonly projectId: ProjectId;
}

/** An exec that is over, and where its files were put. */
export interface EndedPlace extends ProjectKey {
  readonly execId: ExecId;
  readonly artifactsPath: string;
}

/** A place in the order in which execs ended. */
export interface AgedPosition {
  readonly endedAt: string;
  readonly seq: number;
}

export interface Tombstone {
  readonly at: string;
  readonly reason: RemovalReason;
  readonly by: string | null;
}

export type RemovalScope = 'project' | 'inputs';

export interface ProjectRemovalRecord extends ProjectKey, Tombstone {
  readonly removalId: string;
  readonly scope: RemovalScope;
  readonly throughSeq: number;
}

/** The part of the database that removing needs. */
export interface RetentionRecords {
  agedExecs(
    endedBefore: string,
    options: { readonly after?: AgedPosition | undefined; readonly limit: number },
  ): Promise<readonly (EndedPlace & AgedPosition)[]>;
  entombExecs(execIds: readonly ExecId[], tombstone: Tombstone): Promise<readonly ExecId[]>;
  leftovers(limit: number): Promise<readonly EndedPlace[]>;
  settle(execIds: readonly ExecId[]): Promise<void>;
  projects(
    scope: ExecScope<TenantId>,
    options: { readonly after?: string | undefined; readonly limit: number },
  ): Promise<{ readonly items: readonly ProjectSummary[]; readonly after: string | undefined }>;
  lastUse(project: ProjectKey): Promise<string | undefined>;
  beginRemoval(project: ProjectKey, scope: RemovalScope, tombstone: Tombstone): Promise<ProjectRemovalRecord>;
  unfinishedRemovals(): Promise<readonly ProjectRemovalRecord[]>;
  endRemoval(removal: ProjectRemovalRecord, at: string): Promise<void>;
  entombProject(
    removal: ProjectRemovalRecord,
    options: { readonly folder: string; readonly after?: number | undefined; readonly limit: number },
  ): Promise<{ readonly execs: number; readonly after: number | undefined }>;
  contents(
    project: ProjectKey,
    limit: number,
  ): Promise<readonly { readonly sha256: string; readonly shared: boolean }[]>;
  forgetContents(project: ProjectKey, sha256s: readonly string[]): Promise<void>;
}
