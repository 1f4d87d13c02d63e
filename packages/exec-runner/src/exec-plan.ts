import {
  SecboxError,
  ephemeralProject,
  isEphemeralProject,
  isExecId,
  isLayeredProject,
  parseProjectId,
  type ExecId,
  type ExecSubmission,
  type PolicySnapshot,
  type ProjectId,
  type TenantId,
} from '@secbox/contracts';
import { hasInit, type EngineImage } from '@secbox/container-engine';
import { refuseOverlaps, type InputFile } from '@secbox/workspace';
import { cleanEnvironment } from '@secbox/command-guard';
import type { SkillIdentity } from '@secbox/skill-layers';
import type { ExpectedInput } from './approval/expected-inputs.js';
import { planCommand, type PlannedCommand } from './exec-command.js';
import { identitiesOf, type ExecOrder } from './exec-order.js';
import { projectOfLayer, type PlannedLayer } from './layers/planned-layer.js';
import { plannedSkill, type PlannedSkill } from './skill-run.js';

/** All that decides what will run, fixed before anything does. */
export interface ExecPlan {
  readonly execId: ExecId;
  readonly tenant: TenantId;
  readonly actor: string | null;
  readonly projectId: ProjectId;
  readonly taskId: string | null;
  readonly conversationId: string | null;
  readonly command: PlannedCommand;
  readonly inputs: readonly InputFile[];
  readonly image: { readonly reference: string; readonly id: string; readonly hasInit: boolean };
  readonly policy: PolicySnapshot;
  readonly skill?: PlannedSkill;
  readonly readOnlyWork?: boolean;
  readonly layer?: PlannedLayer;
  /** Absent: a container. */
  readonly sandbox?: 'subprocess';
  /** Of one that a human had to agree to: the inputs that were shown. It sees these and no others, and runs alone in its project. */
  readonly expects?: readonly ExpectedInput[];
  /** Of such a one over a layered skill: the files that the skill was when it was shown. */
  readonly expectsSkill?: SkillIdentity;
  /** Of one that nobody had to agree to, as it did not look dangerous: the inputs that were looked at for that. */
  readonly lookedAt?: readonly ExpectedInput[];
}

export interface PlanContext {
  readonly imageReference: string;
  readonly image: EngineImage;
  readonly policy: PolicySnapshot;
}

export function planExec(order: ExecOrder, context: PlanContext): ExecPlan {
  const { execId, tenant, actor, request, inputs, skill, layer } = order;
  const conversationId = request.conversation_id ?? request.task_ref?.conversation_id ?? null;
  refuseOverlaps(inputs);
  refuseOthersFolders(inputs, execId);
  refuseShownValues(order, context);
  const command = planCommand(request.exec, context.image.environment);
  return {
    execId,
    tenant,
    actor,
    projectId: projectIdOf(order, conversationId),
    taskId: request.task_ref?.task_id ?? null,
    conversationId,
    command: layer ? { ...command, environment: cleanEnvironment(command.environment) } : command,
    inputs,
    image: { reference: context.imageReference, id: context.image.id, hasInit: hasInit(context.image) },
    policy: context.policy,
    ...(skill && { skill: plannedSkill(skill) }),
    ...(skill?.readOnlyWork === true ? { readOnlyWork: true } : {}),
    ...(layer && { layer }),
  };
}

/** Without our init, variables are part of the container's configuration, which others may read. */
function refuseShownValues({ request: { exec } }: ExecOrder, { image, imageReference }: PlanContext): void {
  if (hasInit(image) || exec.kind === 'argv' || Object.keys(exec.env ?? {}).length === 0) return;
  throw new SecboxError(
    'invalid_request',
    `exec.env: the image ${imageReference} has no init of ours, so that the engine would show the values; send them as stdin or a secret input.`,
    { details: { field: 'exec.env' } },
  );
}

/** Folders with such names are of invocations, and go with them. */
function refuseOthersFolders(inputs: readonly InputFile[], execId: ExecId): void {
  const taken = inputs.find(({ path: [first = ''] }) => isExecId(first) && first !== execId);
  if (!taken) return;
  const path = taken.path.join('/');
  throw new SecboxError('invalid_path', `inputs: "${path}" begins with what could be the id of an exec.`, {
    details: { path },
  });
}

function projectIdOf({ request, execId, layer }: ExecOrder, conversationId: string | null): ProjectId {
  if (layer) return projectOfLayer(layer);
  const field = request.project_id === undefined ? 'conversation_id' : 'project_id';
  const given = request.project_id ?? conversationId;
  if (given !== null) {
    const projectId = parseProjectId(given, field);
    if (isLayeredProject(projectId)) {
      throw new SecboxError('invalid_id', `${field} names the execs of layered skills.`, {
        details: { field },
      });
    }
    if (!isEphemeralProject(projectId) || projectId === ephemeralProject(execId)) return projectId;
    throw new SecboxError(
      'invalid_id',
      `${field} names the project of one invocation, which ended with it.`,
      {
        details: { field },
      },
    );
  }
  throw new SecboxError('invalid_request', 'project_id or conversation_id must be given.', {
    details: { field: 'project_id' },
  });
}

export type ProjectKey = Pick<ExecPlan, 'tenant' | 'projectId'>;

/** What tells the projects of all tenants apart. */
export function projectOf({ tenant, projectId }: ProjectKey): string {
  return `${tenant}/${projectId}`;
}

/** The skill that it is an invocation of, or a command over; null where it is neither. */
export function skillIdOf({ skill, layer }: Pick<ExecPlan, 'skill' | 'layer'>): string | null {
  return skill?.id ?? (layer?.kind === 'skill' ? layer.skillId : null);
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
    actor: plan.actor,
    project_id: plan.projectId,
    task_id: plan.taskId,
    conversation_id: plan.conversationId,
    skill_id: skillIdOf(plan),
    skill_digest: plan.skill?.invoked?.digest ?? null,
    user_id: plan.layer?.userId ?? null,
    agent_id: plan.layer?.agentId ?? null,
    kind: plan.command.kind,
    sandbox_type: plan.sandbox ?? 'docker',
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

/** Everything in a plan that decides what runs; not its id nor who asked, which say nothing about it. */
export function decidedIn(plan: ExecPlan): unknown {
  return {
    tenant: plan.tenant,
    projectId: plan.projectId,
    command: plan.command,
    image: plan.image,
    policy: plan.policy,
    inputs: identitiesOf(plan.inputs),
    ...(plan.skill && { skill: plan.skill, readOnlyWork: plan.readOnlyWork ?? false }),
    ...(plan.layer && { layer: plan.layer }),
    ...(plan.sandbox && { sandbox: plan.sandbox }),
    ...(plan.expects && { expects: plan.expects }),
    ...(plan.expectsSkill && { expectsSkill: plan.expectsSkill }),
  };
}
