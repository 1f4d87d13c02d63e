import { Readable } from 'node:stream';
import type { Approvals } from '@secbox/approvals';
import { SecboxError, type Approval, type ExecId, type ShownInput, type TenantId } from '@secbox/contracts';
import {
  Directory,
  hashFile,
  isErrno,
  openPublished,
  within,
  type ByteRange,
  type OpenFile,
  type Workspace,
} from '@secbox/workspace';
import { readSealedPlan } from '../sealed-plan.js';
import type { Vault } from '../vault.js';

export interface ShownInputsOptions {
  readonly approvals: Pick<Approvals, 'find'>;
  readonly workspace: Workspace;
  readonly vault: Vault;
}

/** What an input holds; whoever gets it closes it. */
export interface ShownContent {
  readonly file: Pick<OpenFile, 'close'> & { chunks(range?: ByteRange): AsyncIterable<Uint8Array> };
  readonly size: number;
  readonly sha256: string;
}

type PlainInput = Extract<ShownInput, { readonly sha256: string }>;

/**
 * The inputs of execs that wait for a human's word, whole. They are found by the hash that was shown and is part of the
 * plan's, never by what lies under their name by now.
 */
export class ShownInputs {
  readonly #options: ShownInputsOptions;

  constructor(options: ShownInputsOptions) {
    this.#options = options;
  }

  async open(tenant: TenantId, execId: ExecId, path: string): Promise<ShownContent> {
    const approval = await this.#options.approvals.find(tenant, execId);
    const input = approval.plan.inputs.find((each) => each.path === path);
    if (!input || 'secret' in input) {
      throw new SecboxError('input_not_found', `Approval ${execId} shows no such input, or it is secret.`);
    }
    const { size, sha256 } = input;
    // What an exec brings moves from its spool to the contents when it runs: looked for in this order it is not missed.
    const file =
      (input.brought ? await this.#openBrought(approval, input) : undefined) ??
      this.#openKept(tenant, input) ??
      (await this.#openPlaced(tenant, approval, input));
    if (!file) throw new SecboxError('artifact_gone', 'This file was shown, but is not kept any more.');
    return { file, size, sha256 };
  }

  /** As it waits with its exec. */
  async #openBrought(
    { exec_id: execId }: Approval,
    { size, sha256 }: PlainInput,
  ): Promise<ShownContent['file'] | undefined> {
    const { workspace, vault } = this.#options;
    const plan = await readSealedPlan(workspace, vault, execId);
    const content = plan?.inputs.find((file) => !file.secret && file.sha256 === sha256)?.content;
    if (content === undefined) return undefined;
    if (Buffer.isBuffer(content)) return inMemory(content);
    const spool = workspace.spoolOf(execId);
    return ofSize(
      ifThere(() => within(Directory.open(spool), (folder) => folder.openFile(content.staged))),
      size,
    );
  }

  #openKept(tenant: TenantId, { size, sha256 }: PlainInput): OpenFile | undefined {
    const contents = this.#options.workspace.contentsOf(tenant);
    return ofSize(
      ifThere(() => contents.open(sha256)),
      size,
    );
  }

  /** What an operator put into the project himself is kept nowhere else; it is read to know that it is still the same. */
  async #openPlaced(
    tenant: TenantId,
    { project_id: projectId }: Approval,
    { path, size, sha256 }: PlainInput,
  ): Promise<OpenFile | undefined> {
    const folder = this.#options.workspace.areaOf({ tenant, projectId }, 'inputs');
    if (folder === undefined) return undefined;
    const file = ofSize(
      ifThere(() => openPublished(folder, path.split('/'))),
      size,
    );
    if (!file) return undefined;
    try {
      if ((await hashFile(file)).sha256 === sha256) return file;
    } catch (error) {
      file.close();
      throw error;
    }
    file.close();
    return undefined;
  }
}

function inMemory(content: Buffer): ShownContent['file'] {
  return {
    chunks: ({ start = 0, end = Infinity } = {}) => Readable.from([content.subarray(start, end + 1)]),
    close: () => undefined,
  };
}

function ifThere(open: () => OpenFile | undefined): OpenFile | undefined {
  try {
    return open();
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO')) return undefined;
    throw error;
  }
}

function ofSize(file: OpenFile | undefined, size: number): OpenFile | undefined {
  if (file?.stat().size === size) return file;
  file?.close();
  return undefined;
}
