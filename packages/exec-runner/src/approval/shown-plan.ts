import type { Assessed } from '@secbox/approvals';
import { isEphemeralProject, type ExecSubmission, type ShownInput, type ShownPlan } from '@secbox/contracts';
import { containerPaths } from '@secbox/container-engine';
import {
  Directory,
  isErrno,
  mostInputs,
  within,
  type InputFile,
  type OpenFile,
  type VisibleInput,
  type Workspace,
} from '@secbox/workspace';
import { canonicalJson } from '../canonical-json.js';
import type { ExecPlan } from '../exec-plan.js';
import { expectedInputs, isOfAnother, type ExpectedInput } from './expected-inputs.js';
import { decidingVariables, isModule, takesPart } from './looked-at.js';

const previewBytes = 2048;
const mostPreviews = 100;
/** Of a script that a command names, or a module that it may load; a larger one is not looked at. */
const scriptBytes = 1024 ** 2;
const mostModules = 32;

/** All inputs that an exec will see, from the request and from its project. */
export interface InputsView {
  readonly expects: readonly ExpectedInput[];
  readonly shown: readonly ShownInput[];
  /** What the files hold that take part in what the command does, by their paths in the container. */
  readonly scripts: ReadonlyMap<string, string>;
  /** Those of them that it may load without naming them. */
  readonly modules: readonly string[];
  /** Modules that nobody can look at: they are no text, too large, secret, or too many. */
  readonly unseen: readonly string[];
}

export async function viewInputs(workspace: Workspace, plan: ExecPlan): Promise<InputsView> {
  const visible = await listInputs(workspace, plan);
  const brought = new Map(plan.inputs.map((file) => [file.path.join('/'), file]));
  const kept = visible.filter(({ path }) => !brought.has(path) && !isOfAnother(path, plan.execId));
  const files = [
    ...plan.inputs.map((file) => broughtFile(workspace, plan, file)),
    ...kept.flatMap((input) => keptFile(workspace, plan, input)),
  ].sort((a, b) => (a.path < b.path ? -1 : 1));
  const shown: ShownInput[] = [];
  const scripts = new Map<string, string>();
  const modules: string[] = [];
  const unseen: string[] = [];
  for (const [index, { path, brought: isBrought, content }] of files.entries()) {
    const inContainer = `${containerPaths.inputs}/${path}`;
    const isLooked = takesPart(plan.command, path);
    const isLoaded = isLooked && isModule(path) && plan.command.args[0] !== inContainer;
    if (!content) {
      shown.push({ path, secret: true, brought: isBrought });
      if (isLoaded) unseen.push(path);
      continue;
    }
    const { size, sha256, read } = content;
    const preview = index < mostPreviews ? textOf(await read(previewBytes), size) : null;
    const complete = preview !== null && size <= previewBytes;
    shown.push({ path, size, sha256, brought: isBrought, preview, preview_complete: complete });
    if (!isLooked) continue;
    const canLook = size <= scriptBytes && (!isLoaded || modules.length < mostModules);
    const script = canLook ? textOf(await read(scriptBytes), size) : null;
    if (script !== null) scripts.set(inContainer, script);
    if (isLoaded) (script === null ? unseen : modules).push(script === null ? path : inContainer);
  }
  const expects = expectedInputs(plan.execId, visible, plan.inputs);
  return { expects, shown, scripts, modules, unseen };
}

/** What is to be looked at of a plan, and what cannot be. */
export function assessedOf({ command }: Pick<ExecPlan, 'command'>, view: InputsView): Assessed {
  const variables = decidingVariables(command);
  return {
    argv: [command.command, ...command.args],
    files: view.scripts,
    modules: view.modules,
    stdin: command.stdin,
    unseen: [
      ...variables.map((name) => `what ${name} brings in`),
      ...view.unseen.map((path) => `the module ${path}`),
    ],
  };
}

export function shownPlan(
  plan: ExecPlan,
  submission: ExecSubmission,
  inputs: readonly ShownInput[],
  fingerprint: (text: string) => string,
): ShownPlan {
  const { stdin } = plan.command;
  return {
    argv: [submission.cmd, ...submission.args],
    cwd: submission.cwd,
    env_keys: submission.env_keys,
    stdin_bytes: Buffer.byteLength(stdin),
    // Its own kind of text: no stdin has the hash of a plan.
    stdin_hash: stdin === '' ? null : fingerprint(canonicalJson({ stdin })),
    unseen: unseenIn(plan),
    inputs,
    image: submission.image,
    image_digest: submission.image_digest,
    skill_digest: submission.skill_digest,
    skill_version: plan.expectsSkill?.skill_version ?? null,
    skill_source: plan.expectsSkill?.skill_source ?? null,
    user_id: submission.user_id,
    agent_id: submission.agent_id,
    sandbox_type: submission.sandbox_type,
    read_only_work: plan.readOnlyWork ?? false,
    limits: plan.policy.values,
  };
}

/** Of a skill it is part of the plan, and that of one invocation is empty. */
const unseenWork = `What lies in ${containerPaths.work}: others may change it until this runs, and nobody sees what of it is run or loaded.`;

/** Values and stdin may be secret, and work may change. Whoever agrees has to know that these may decide what runs. */
function unseenIn({ command, projectId, layer }: ExecPlan): string[] {
  const isBound = layer?.kind === 'skill' || isEphemeralProject(projectId);
  const bytes = Buffer.byteLength(command.stdin);
  return [
    ...decidingVariables(command).map((name) => `What ${name} says, which may decide what runs.`),
    ...(bytes === 0
      ? []
      : [`What is sent on stdin (${bytes} bytes): if it is run as code, nobody sees that code.`]),
    ...(isBound ? [] : [unseenWork]),
  ];
}

interface ViewedFile {
  readonly path: string;
  readonly brought: boolean;
  /** Absent of a secret one. */
  readonly content?: {
    readonly size: number;
    readonly sha256: string;
    readonly read: (most: number) => Promise<Buffer>;
  };
}

async function listInputs(workspace: Workspace, plan: ExecPlan): Promise<readonly VisibleInput[]> {
  try {
    return await workspace.inputsOf(plan).list(mostInputs);
  } catch (error) {
    // A project that is still to be made has none.
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  }
}

function broughtFile(workspace: Workspace, { execId }: ExecPlan, file: InputFile): ViewedFile {
  const { size, sha256, secret, content } = file;
  const path = file.path.join('/');
  if (secret) return { path, brought: true };
  const read = (most: number) =>
    Buffer.isBuffer(content)
      ? Promise.resolve(content.subarray(0, most))
      : within(Directory.open(workspace.spoolOf(execId)), (spool) =>
          beginningOf(spool.openFile(content.staged), most),
        );
  return { path, brought: true, content: { size, sha256, read } };
}

function keptFile(workspace: Workspace, { tenant }: ExecPlan, input: VisibleInput): ViewedFile[] {
  const { path } = input;
  if ('kind' in input) return [];
  if ('secret' in input) return [{ path, brought: false }];
  const { size, sha256 } = input;
  const read = async (most: number) => {
    try {
      return await beginningOf(workspace.contentsOf(tenant).open(sha256), most);
    } catch (error) {
      // What an operator put there himself is not kept elsewhere.
      if (isErrno(error, 'ENOENT')) return Buffer.from([0]);
      throw error;
    }
  };
  return [{ path, brought: false, content: { size, sha256, read } }];
}

async function beginningOf(file: OpenFile, most: number): Promise<Buffer> {
  try {
    const buffer = Buffer.alloc(Math.min(most, file.stat().size));
    return buffer.subarray(0, await file.read(buffer, 0));
  } finally {
    file.close();
  }
}

/** Null where it is not text. What was cut may end within a character. */
function textOf(bytes: Buffer, size: number): string | null {
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    const text = decoder.decode(bytes, { stream: bytes.length < size });
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}
