import { createHash } from 'node:crypto';
import {
  SecboxError,
  defaultTenant,
  newExecId,
  parseProjectId,
  type ExecId,
  type ExecInput,
  type ExecRequest,
  type ExecSubmission,
  type PolicySnapshot,
  type ProjectId,
} from '@secbox/contracts';
import { hasInit, type EngineImage } from '@secbox/container-engine';
import { parseRelativePath, refuseOverlaps, type InputFile } from '@secbox/workspace';
import { assertWellFormed, planCommand, type PlannedCommand } from './exec-command.js';

/** All that decides what will run, fixed before anything does. */
export interface ExecPlan {
  readonly execId: ExecId;
  readonly projectId: ProjectId;
  readonly taskId: string | null;
  readonly conversationId: string | null;
  readonly command: PlannedCommand;
  readonly inputs: readonly InputFile[];
  readonly image: { readonly reference: string; readonly id: string; readonly hasInit: boolean };
  readonly policy: PolicySnapshot;
}

export interface PlanContext {
  readonly imageReference: string;
  readonly image: EngineImage;
  readonly policy: PolicySnapshot;
}

export function planExec(request: ExecRequest, context: PlanContext): ExecPlan {
  const conversationId = request.conversation_id ?? request.task_ref?.conversation_id ?? null;
  const inputs = (request.inputs ?? []).map(planInput);
  refuseOverlaps(inputs);
  return {
    execId: newExecId(),
    projectId: projectOf(request, conversationId),
    taskId: request.task_ref?.task_id ?? null,
    conversationId,
    command: planCommand(request.exec, context.image.environment),
    inputs,
    image: { reference: context.imageReference, id: context.image.id, hasInit: hasInit(context.image) },
    policy: context.policy,
  };
}

function projectOf(request: ExecRequest, conversationId: string | null): ProjectId {
  if (request.project_id !== undefined) return parseProjectId(request.project_id);
  if (conversationId !== null) return parseProjectId(conversationId, 'conversation_id');
  throw new SecboxError('invalid_request', 'project_id or conversation_id must be given.', {
    details: { field: 'project_id' },
  });
}

function planInput(input: ExecInput, index: number): InputFile {
  return {
    path: parseRelativePath(input.path, `inputs[${index}].path`),
    content: contentOf(input, index),
    secret: input.secret ?? false,
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

/** The audit row of a plan: everything but the secrets. */
export function submissionOf(
  plan: ExecPlan,
  facts: Pick<
    ExecSubmission,
    'artifacts_path' | 'idempotency_key' | 'request_hash' | 'plan_hash' | 'created_at'
  >,
): ExecSubmission {
  return {
    exec_id: plan.execId,
    tenant: defaultTenant,
    actor: null,
    project_id: plan.projectId,
    task_id: plan.taskId,
    conversation_id: plan.conversationId,
    skill_id: null,
    kind: plan.command.kind,
    sandbox_type: 'docker',
    image: plan.image.reference,
    image_digest: plan.image.id,
    cmd: plan.command.command,
    args: plan.command.args,
    cwd: plan.command.cwd,
    env_keys: plan.command.environmentKeys,
    policy_snapshot: plan.policy,
    ...facts,
  };
}

/** Everything in a plan that decides what runs; not its id, which says nothing about it. */
export function decidedIn(plan: ExecPlan): unknown {
  return {
    projectId: plan.projectId,
    command: plan.command,
    image: plan.image,
    policy: plan.policy,
    inputs: plan.inputs.map(({ path, content }) => ({
      path: path.join('/'),
      sha256: createHash('sha256').update(content).digest('hex'),
    })),
  };
}
