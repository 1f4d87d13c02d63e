import {
  isFinal,
  SecboxError,
  type ArtifactListing,
  type ArtifactRecord,
  type ExecAnswer,
  type ExecExportQuery,
  type ExecFilter,
  type ExecId,
  type ExecListQuery,
  type ExecPage,
  type ExecRecord,
  type ExecSort,
  type ExecStats,
  type InputListing,
  type PageQuery,
  type TenantId,
} from '@secbox/contracts';
import type { ContentStore } from '@secbox/workspace';
import type { Readable } from 'node:stream';
import { artifactUrl, fileNameOf, nameOf, parseArtifactPath, pathOf } from './artifact-path.js';
import type { AuditRecords } from './audit-records.js';
import { Cursors, type Seals } from './cursor.js';
import { assertKept, openContent, openListed, type OpenedFile } from './open-file.js';
import { openOutput, type OutputStream } from './open-output.js';
import { readAnswer } from './read-answer.js';
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

/** Answers what auditors ask. Every question is of one tenant. */
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

  async list(tenant: TenantId, query: ExecListQuery): Promise<ExecPage> {
    const { cursor, limit = defaultLimit, sort = '-created_at', ...filter } = query;
    assertMoments(filter);
    const list = ['execs', tenant, sort, Object.entries(filter).sort()];
    const options = { order: orderOf(sort), after: this.#cursors.read(cursor, list), limit };
    const { items, after } = await this.#records.list(tenant, filter, options);
    return { execs: items, next_cursor: after === undefined ? null : this.#cursors.write(after, list) };
  }

  export(
    tenant: TenantId,
    { format, sort = '-created_at', ...filter }: ExecExportQuery,
  ): AsyncIterable<Uint8Array> {
    assertMoments(filter);
    return this.#records.export(tenant, filter, { order: orderOf(sort), format });
  }

  async stats(tenant: TenantId, filter: ExecFilter): Promise<ExecStats> {
    assertMoments(filter);
    return this.#records.stats(tenant, filter);
  }

  async find(tenant: TenantId, execId: ExecId): Promise<ExecRecord> {
    const record = await this.#records.find(tenant, execId);
    if (!record) throw new SecboxError('exec_not_found', `There is no exec ${execId}.`);
    return record;
  }

  /** A row with what its exec left behind. */
  answer(record: ExecRecord): Promise<ExecAnswer> {
    return readAnswer(record, this.#records);
  }

  async artifacts(
    tenant: TenantId,
    execId: ExecId,
    { cursor, limit = defaultLimit }: PageQuery,
  ): Promise<ArtifactListing> {
    const { files_removed_at: removed } = await this.find(tenant, execId);
    const list = ['artifacts', tenant, execId];
    const options = { after: this.#cursors.read(cursor, list), limit };
    const { items, after } = await this.#records.artifacts(execId, options);
    return {
      artifacts: items.map((item) => ({
        ...item,
        url: isKept(item) && removed === null ? artifactUrl(execId, item) : null,
      })),
      next_cursor: after === undefined ? null : this.#cursors.write(after, list),
    };
  }

  async inputs(
    tenant: TenantId,
    execId: ExecId,
    { cursor, limit = defaultLimit }: PageQuery,
  ): Promise<InputListing> {
    await this.find(tenant, execId);
    const list = ['inputs', tenant, execId];
    const options = { after: this.#cursors.read(cursor, list), limit };
    const { items, after } = await this.#records.inputs(execId, options);
    return { inputs: items, next_cursor: after === undefined ? null : this.#cursors.write(after, list) };
  }

  /** `path` as it is in a URL. */
  async openArtifact(
    tenant: TenantId,
    execId: ExecId,
    path: string,
  ): Promise<OpenedFile & { readonly name: string }> {
    const components = parseArtifactPath(path);
    const record = await this.find(tenant, execId);
    const artifact = await this.#records.findArtifact(execId, nameOf(components));
    if (!artifact || !isKept(artifact)) {
      throw new SecboxError('artifact_not_found', `Exec ${execId} has no such file to download.`);
    }
    return { ...(await openListed(record, artifact)), name: fileNameOf(components) };
  }

  /** What an input held that the exec could see, also when it was replaced since; of a secret one nothing is kept. */
  async openInput(
    tenant: TenantId,
    execId: ExecId,
    path: string,
  ): Promise<OpenedFile & { readonly name: string }> {
    const components = parseArtifactPath(path);
    const name = nameOf(components);
    await this.find(tenant, execId);
    const input = 'path' in name ? await this.#records.findInput(execId, name.path) : undefined;
    if (!input || 'secret' in input) {
      throw new SecboxError('input_not_found', `Exec ${execId} saw no such input that is kept.`);
    }
    return {
      ...(await openContent(this.#contentsOf(tenant), input)),
      name: fileNameOf(components),
    };
  }

  async openOutput(tenant: TenantId, execId: ExecId, stream: OutputStream): Promise<OpenedFile | undefined> {
    const findAgain = () => this.find(tenant, execId);
    return openOutput(await findAgain(), stream, {
      records: this.#records,
      spoolOf: this.#spoolOf,
      findAgain,
    });
  }

  /** All files of an exec that is over, its output among them. */
  async zip(tenant: TenantId, execId: ExecId): Promise<Readable> {
    const record = await this.find(tenant, execId);
    if (!isFinal(record.status)) {
      throw new SecboxError('exec_not_over', `Exec ${execId} is not over: its files may still change.`);
    }
    assertKept(record);
    const entries: ZipEntry[] = [];
    let after: number | undefined;
    do {
      const options = { after, limit: listedAtOnce, withOutput: true };
      const page = await this.#records.artifacts(execId, options);
      entries.push(...page.items.flatMap((item) => entryOf(record, item)));
      after = page.after;
    } while (after !== undefined);
    return zipFiles(entries, new Date(record.ended_at ?? record.created_at));
  }
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
