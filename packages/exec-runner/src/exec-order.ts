import {
  SecboxError,
  isEphemeralProject,
  newExecId,
  type ArgvCommand,
  type ExecId,
  type ExecInput,
  type ExecRequest,
  type TenantId,
} from '@secbox/contracts';
import { parseRelativePath, sha256Of, type InputFile } from '@secbox/workspace';
import { assertWellFormed } from './exec-command.js';
import type { Intake } from './intake.js';
import type { PlannedLayer } from './layers/planned-layer.js';
import type { SkillRun } from './skill-run.js';

/** Who asks. */
export interface Caller {
  readonly tenant: TenantId;
  /** The key that was sent; null where callers are not told apart. */
  readonly actor: string | null;
  /** From where, as far as it is known. */
  readonly address?: string | null;
}

/** An exec, as its tenant knows it. */
export interface ExecKey {
  readonly tenant: TenantId;
  readonly execId: ExecId;
}

/** A request as it was received: who asks, what for, and with which files, whichever way they came. */
export interface ExecOrder extends Caller {
  readonly execId: ExecId;
  readonly request: AnyExecRequest;
  readonly inputs: readonly InputFile[];
  readonly skill?: SkillRun | undefined;
  readonly layer?: PlannedLayer | undefined;
}

/** What comes with a request beside its body. */
export interface SubmitOptions {
  readonly caller: Caller;
  readonly idempotencyKey?: string | undefined;
  /** The files that were received with it; discarded when the request was there before, the caller's when it is refused. */
  readonly intake?: Intake | undefined;
  readonly skill?: SkillRun | undefined;
  readonly layer?: PlannedLayer | undefined;
}

/** As callers send it, or as an invocation makes it. */
export type AnyExecRequest = Omit<ExecRequest, 'exec'> & { readonly exec: ExecRequest['exec'] | ArgvCommand };

export function orderOf(
  request: AnyExecRequest,
  { caller: { tenant, actor, address = null }, intake, skill, layer }: SubmitOptions,
): ExecOrder {
  return {
    skill,
    layer,
    execId: intake?.execId ?? newExecId(),
    tenant,
    actor,
    address,
    request,
    inputs: [
      ...(request.inputs ?? []).map(inlineInput),
      ...(intake?.received ?? []),
      ...(skill?.invocation?.files ?? []),
    ],
  };
}

/** An invocation as it was sent, before anything of its skill is looked at. */
export interface SentInvocation {
  readonly skill: string;
  readonly requested: unknown;
}

/** What makes a request the same as another, of one that is not checked yet. */
export function requestedBy(sent: AnyExecRequest | SentInvocation, options: SubmitOptions): unknown {
  return 'skill' in sent ? { tenant: options.caller.tenant, ...sent } : requestedIn(orderOf(sent, options));
}

/** What makes two orders the same, however their files were sent. */
export function requestedIn({ tenant, request, inputs, skill, layer }: ExecOrder): unknown {
  // Its files lie below the name of the exec, which is another one each time.
  if (skill?.invocation) return { tenant, skill: skill.id, requested: skill.invocation.requested };
  const { project_id: project, ...rest } = request;
  return {
    ...rest,
    // One that is made for a request has another name each time.
    ...(project === undefined || isEphemeralProject(project) ? {} : { project_id: project }),
    tenant,
    inputs: identitiesOf(inputs),
    ...(layer && { layer }),
  };
}

function inlineInput(input: ExecInput, index: number): InputFile {
  const content = contentOf(input, index);
  return {
    path: parseRelativePath(input.path, `inputs[${index}].path`),
    size: content.length,
    sha256: sha256Of(content),
    secret: input.secret ?? false,
    content,
  };
}

function contentOf(input: ExecInput, index: number): Buffer {
  if (input.content_base64 === undefined) {
    assertWellFormed(`inputs[${index}].content`, [input.content ?? '']);
    return Buffer.from(input.content ?? '', 'utf8');
  }
  const content = Buffer.from(input.content_base64, 'base64');
  // The decoder skips what it does not know; what it gives back unchanged was base64.
  if (content.toString('base64') !== input.content_base64) {
    throw new SecboxError('invalid_request', `inputs[${index}].content_base64 is not base64.`, {
      details: { field: `inputs[${index}].content_base64` },
    });
  }
  return content;
}

/** In the order of their paths: how they arrived says nothing about what was asked for. */
export function identitiesOf(inputs: readonly InputFile[]): unknown[] {
  return inputs
    .map(({ path, secret, sha256 }) => ({ path: path.join('/'), secret, sha256 }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}
