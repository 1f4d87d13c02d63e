import {
  isFinal,
  SecboxError,
  tenantOfScope,
  type ArtifactListing,
  type ArtifactRecord,
  type ExecAnswer,
  type ExecExportQuery,
  type ExecFilter,
  type ExecId,
  type ExecListQuery,
  type ExecRecord,
  type ExecScope,
  type ExecSort,
  type ExecStats,
  type FreshExec,
  type InputListing,
  type PageQuery,
  type ProjectId,
  type TenantId,
} from '@secbox/contracts';
import type { ContentStore } from '@secbox/workspace';
import type { Readable } from 'node:stream';
import { artifactUrl, fileNameOf, nameOf, parseArtifactPath, pathOf } from './artifact-path.js';
import type { AuditRecords, ExecKey } from './audit-records.js';
import { Cursors, type Seals } from './cursor.js';
import { assertKept, gone, openContent, openListed, type OpenedFile } from './open-file.js';
import { openOutput, type OutputStream } from './open-output.js';
import { freshAnswer, readAnswer, type AnswerOptions } from './read-answer.js';
import { zipFiles, type ZipEntry } from './zip-files.js';
import { zipNameOf } from './zip-name.js';

export interface AuditLogOptions {
  readonly records: AuditRecords;
  readonly seals: Seals;
  /** Where an exec's output is while it runs. */
  readonly spoolOf: (record: ExecRecord) => string;
  /** What the inputs of a tenant's execs held. */
  readonly contentsOf: (tenant: TenantId) => ContentStore;
}

const defaultLimit = 50;
const listedAtOnce = 1000;

/** Answers what auditors ask. Every question is of one tenant, and of those of its execs that the asker sees. */
export class AuditLog {
  readonly #records: AuditRecords;
  readonly #cursors: Cursors;
  readonly #spoolOf: AuditLogOptions['spoolOf'];
  readonly #contentsOf: AuditLogOptions['contentsOf'];

  constructor({ records, seals, spoolOf, contentsOf }: AuditLogOptions) {
    this.#records = records;
    this.#contentsOf = contentsOf;
    this.#cursors = new Cursors(seals);
    this.#spoolOf = spoolOf;
  }

  /** An `ExecPage`, as JSON: a page has many rows, and nobody on the way looks at them. */
  async list(scope: ExecScope<TenantId>, query: ExecListQuery): Promise<Buffer> {
    const { cursor, limit = defaultLimit, sort = '-created_at', ...filter } = query;
    assertMoments(filter);
    const list = ['execs', tenantOfScope(scope), sort, Object.entries(filter).sort()];
    const options = { order: orderOf(sort), after: this.#cursors.read(cursor, list), limit };
    const { items, after } = await this.#records.list(scope, filter, options);
    const cursorAfter = after === undefined ? null : this.#cursors.write(after, list);
    return Buffer.concat([
      Buffer.from('{"execs":['),
      items,
      Buffer.from(`],"next_cursor":${JSON.stringify(cursorAfter)}}`),
    ]);
  }

  export(
    scope: ExecScope<TenantId>,
    { format, sort = '-created_at', ...filter }: ExecExportQuery,
  ): AsyncIterable<Uint8Array> {
    assertMoments(filter);
    return this.#records.export(scope, filter, { order: orderOf(sort), format });
  }

  async stats(scope: ExecScope<TenantId>, filter: ExecFilter): Promise<ExecStats> {
    assertMoments(filter);
    return this.#records.stats(scope, filter);
  }

  async find(scope: ExecScope<TenantId>, execId: ExecId): Promise<ExecRecord> {
    const record = await this.#records.find(scope, execId);
    if (!record) throw notFound(execId);
    return record;
  }

  /** Whether a limited key sees it. Of a whole tenant nothing is looked up: whatever finds the exec asks whose it is. */
  async sees(scope: ExecScope<TenantId>, execId: ExecId): Promise<boolean> {
    return typeof scope === 'string' || (await this.#records.find(scope, execId)) !== undefined;
  }

  /** Throws when a limited key does not see it. */
  async assertSeen(scope: ExecScope<TenantId>, execId: ExecId): Promise<void> {
    if (!(await this.sees(scope, execId))) throw notFound(execId);
  }

  /** Whether a limited key sees any exec of it. */
  async seesProject(scope: ExecScope<TenantId>, projectId: ProjectId): Promise<boolean> {
    if (typeof scope === 'string') return true;
    const { items } = await this.#records.list(scope, { project_id: projectId }, { order: 'desc', limit: 1 });
    return items.length > 0;
  }

  /** A row with what its exec left behind. */
  answer(record: ExecRecord, options?: AnswerOptions): Promise<ExecAnswer> {
    return readAnswer(record, this.#records, options);
  }

  /** The same, of one that is still at hand. */
  answerFresh(exec: FreshExec): ExecAnswer {
    return freshAnswer(exec);
  }

  /** What it left under this path, its output among it; undefined when that is nothing that is kept. */
  openFresh({ record, artifacts }: FreshExec, path: string): OpenedFile | undefined {
    const artifact = artifacts.find(
      (entry) => entry.path === path && entry.size !== null && entry.dropped === null,
    );
    return artifact && openListed(record, artifact);
  }

  async artifacts(
    scope: ExecScope<TenantId>,
    execId: ExecId,
    { cursor, limit = defaultLimit }: PageQuery,
  ): Promise<ArtifactListing> {
    const { files_removed_at: removed } = await this.find(scope, execId);
    const list = ['artifacts', tenantOfScope(scope), execId];
    const options = { after: this.#cursors.read(cursor, list), limit };
    const { items, after } = await this.#records.artifacts(keyOf(scope, execId), options);
    return {
      artifacts: items.map((item) => ({
        ...item,
        url: isKept(item) && removed === null ? artifactUrl(execId, item) : null,
      })),
      next_cursor: after === undefined ? null : this.#cursors.write(after, list),
    };
  }

  async inputs(
    scope: ExecScope<TenantId>,
    execId: ExecId,
    { cursor, limit = defaultLimit }: PageQuery,
  ): Promise<InputListing> {
    await this.find(scope, execId);
    const list = ['inputs', tenantOfScope(scope), execId];
    const options = { after: this.#cursors.read(cursor, list), limit };
    const { items, after } = await this.#records.inputs(keyOf(scope, execId), options);
    return { inputs: items, next_cursor: after === undefined ? null : this.#cursors.write(after, list) };
  }

  /** `path` as it is in a URL. */
  async openArtifact(
    scope: ExecScope<TenantId>,
    execId: ExecId,
    path: string,
  ): Promise<OpenedFile & { readonly name: string }> {
    const components = parseArtifactPath(path);
    const record = await this.find(scope, execId);
    const artifact = await this.#records.findArtifact(keyOf(scope, execId), nameOf(components));
    if (!artifact || !isKept(artifact)) {
      throw new SecboxError('artifact_not_found', `Exec ${execId} has no such file to download.`);
    }
    return { ...openListed(record, artifact), name: fileNameOf(components) };
  }

  /** What an input held that the exec could see, also when it was replaced since; of a secret one nothing is kept. */
  async openInput(
    scope: ExecScope<TenantId>,
    execId: ExecId,
    path: string,
  ): Promise<OpenedFile & { readonly name: string }> {
    const components = parseArtifactPath(path);
    const name = nameOf(components);
    await this.find(scope, execId);
    const exec = keyOf(scope, execId);
    const input = 'path' in name ? await this.#records.findInput(exec, name.path) : undefined;
    if (!input || 'secret' in input) {
      throw new SecboxError('input_not_found', `Exec ${execId} saw no such input that is kept.`);
    }
    const opened = openContent(this.#contentsOf(tenantOfScope(scope)), input);
    if (!opened) throw gone(await this.#records.findInputRemoval(exec));
    return { ...opened, name: fileNameOf(components) };
  }

  async openOutput(
    scope: ExecScope<TenantId>,
    execId: ExecId,
    stream: OutputStream,
  ): Promise<OpenedFile | undefined> {
    const findAgain = () => this.find(scope, execId);
    return openOutput(await findAgain(), stream, {
      records: this.#records,
      spoolOf: this.#spoolOf,
      findAgain,
    });
  }

  /** All files of an exec that is over, its output among them. */
  async zip(scope: ExecScope<TenantId>, execId: ExecId): Promise<Readable> {
    const record = await this.find(scope, execId);
    if (!isFinal(record.status)) {
      throw new SecboxError('exec_not_over', `Exec ${execId} is not over: its files may still change.`);
    }
    assertKept(record);
    const entries: ZipEntry[] = [];
    let after: number | undefined;
    do {
      const options = { after, limit: listedAtOnce, withOutput: true };
      const page = await this.#records.artifacts(keyOf(scope, execId), options);
      entries.push(...page.items.flatMap((item) => entryOf(record, item)));
      after = page.after;
    } while (after !== undefined);
    return zipFiles(entries, new Date(record.ended_at ?? record.created_at));
  }
}

function keyOf(scope: ExecScope<TenantId>, execId: ExecId): ExecKey {
  return { tenant: tenantOfScope(scope), execId };
}

function notFound(execId: ExecId): SecboxError {
  return new SecboxError('exec_not_found', `There is no exec ${execId}.`);
}

function entryOf(record: ExecRecord, artifact: ArtifactRecord): ZipEntry[] {
  const output = artifact.kind === 'stdout' || artifact.kind === 'stderr';
  if (artifact.size === null || !(output || isKept(artifact))) return [];
  const open = () => openListed(record, artifact);
  return [{ name: zipNameOf(pathOf(artifact)), size: artifact.size, open }];
}

/** Whether it is a file that was kept, and not only listed. */
function isKept({ kind, dropped, sha256 }: ArtifactRecord): boolean {
  return kind === 'file' && dropped === null && sha256 !== null;
}

function orderOf(sort: ExecSort): 'asc' | 'desc' {
  return sort === 'created_at' ? 'asc' : 'desc';
}

/** The schema knows the form of a time, not that there is no 13th month. */
function assertMoments(filter: ExecFilter): void {
  for (const field of ['since', 'until'] as const) {
    const text = filter[field];
    if (text !== undefined && Number.isNaN(Date.parse(text))) {
      throw new SecboxError('invalid_request', `"${field}" is not a date or time that there is.`, {
        details: { field },
      });
    }
  }
}
