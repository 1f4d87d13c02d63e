import type {
  ArtifactRecord,
  ExecFilter,
  ExecId,
  ExecRecord,
  ExecScope,
  ExecStats,
  ExecTombstone,
  ExportFormat,
  InputRecord,
} from '@secbox/contracts';

/** One page of a list; `after` is the place to go on from, undefined at its end. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly after: number | undefined;
}

export interface PageOptions {
  readonly after?: number | undefined;
  readonly limit: number;
}

/** One that the asker sees. */
export interface ExecKey {
  readonly tenant: string;
  readonly execId: ExecId;
}

/** The part of the audit store that asking needs. */
export interface AuditRecords {
  /** The rows as the items of a JSON array. */
  list(
    scope: ExecScope,
    filter: ExecFilter,
    options: PageOptions & { readonly order: 'asc' | 'desc' },
  ): Promise<{ readonly items: Uint8Array; readonly after: number | undefined }>;
  find(scope: ExecScope, execId: ExecId): Promise<ExecRecord | undefined>;
  artifacts(
    exec: ExecKey,
    options: PageOptions & { readonly withOutput?: boolean },
  ): Promise<Page<ArtifactRecord>>;
  findArtifact(
    exec: ExecKey,
    name: { readonly path: string } | { readonly base64: string },
  ): Promise<ArtifactRecord | undefined>;
  findInput(exec: ExecKey, path: string): Promise<InputRecord | undefined>;
  findInputRemoval(exec: ExecKey): Promise<ExecTombstone | undefined>;
  inputs(exec: ExecKey, options: PageOptions): Promise<Page<InputRecord>>;
  export(
    scope: ExecScope,
    filter: ExecFilter,
    options: { readonly order: 'asc' | 'desc'; readonly format: ExportFormat },
  ): AsyncIterable<Uint8Array>;
  stats(scope: ExecScope, filter: ExecFilter): Promise<ExecStats>;
}
