import {
  SecboxError,
  parseProjectId,
  type ExecId,
  type ExecRequest,
  type ExecSubmission,
  type PolicySnapshot,
  type ProjectId,
  type TenantId,
} from '@secbox/contracts';
import { hasInit, type EngineImage } from '@secbox/container-engine';
import { refuseOverlaps, type InputFile } from '@secbox/workspace';
import { planCommand, type PlannedCommand } from './exec-command.js';
import { identitiesOf, type ExecOrder } from './exec-order.js';

/** All that decides what will run, fixed before anything does. */
export interface ExecPlan {
  readonly execId: ExecId;
  readonly tenant: TenantId;
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

export function planExec({ execId, tenant, request, inputs }: ExecOrder, context: PlanContext): ExecPlan {
  const conversationId = request.conversation_id ?? request.task_ref?.conversation_id ?? null;
  refuseOverlaps(inputs);
  return {
    execId,
    tenant,
    projectId: projectIdOf(request, conversationId),
    taskId: request.task_ref?.task_id ?? null,
    conversationId,
    command: planCommand(request.exec, context.image.environment),
    inputs,
    image: { reference: context.imageReference, id: context.image.id, hasInit: hasInit(context.image) },
    policy: context.policy,
  };
}

function projectIdOf(request: ExecRequest, conversationId: string | null): ProjectId {
  if (request.project_id !== undefined) return parseProjectId(request.project_id);
  if (conversationId !== null) return parseProjectId(conversationId, 'conversation_id');
  throw new SecboxError('invalid_request', 'project_id or conversation_id must be given.', {
    details: { field: 'project_id' },
  });
}

export type ProjectKey = Pick<ExecPlan, 'tenant' | 'projectId'>;

/** What tells the projects of all tenants apart. */
export function projectOf({ tenant, projectId }: ProjectKey): string {
  return `${tenant}/${projectId}`;
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
    tenant: plan.tenant,
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

/** The hashes of what it brings along and is kept. */
export function contentsIn({ inputs }: ExecPlan): readonly string[] {
  return [...new Set(inputs.filter(({ secret }) => !secret).map(({ sha256 }) => sha256))];
}

/** Everything in a plan that decides what runs; not its id, which says nothing about it. */
export function decidedIn(plan: ExecPlan): unknown {
  return {
    tenant: plan.tenant,
    projectId: plan.projectId,
    command: plan.command,
    image: plan.image,
    policy: plan.policy,
    inputs: identitiesOf(plan.inputs),
  };
}
