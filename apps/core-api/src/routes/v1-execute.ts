import type { Principal, SecurityLog } from '@secbox/access';
import type { AuditLog } from '@secbox/audit';
import { guardCommand, type CommandPlace } from '@secbox/command-guard';
import {
  answeredOutputBytes,
  executeQuerySchema,
  isFinal,
  SecboxError,
  type ExecAnswer,
  type ExecuteQuery,
  type ExecutedCommand,
  type FreshExec,
} from '@secbox/contracts';
import type { ExecRunner, PlannedLayer } from '@secbox/exec-runner';
import type { SkillPlace } from '@secbox/skill-layers';
import type { Request, RequestHandler, Response } from 'express';
import { askerOf } from '../caller.js';
import type { GuardedRoutes } from '../guarded-routes.js';
import { hasBody } from '../has-body.js';
import { idempotencyKey } from '../idempotency-key.js';
import { jsonBody } from '../json-body.js';
import type { TenantLayers } from '../layers/tenant-layers.js';
import { refusedOnRecord, skillIn, success, userIn } from '../layers/v1-place.js';
import { preferredWait } from '../prefer.js';
import { queryReader } from '../read-query.js';
import type { RouteName } from '../route-access.js';

export interface V1ExecuteOptions {
  readonly runner: Pick<ExecRunner, 'submit' | 'findEarlier' | 'find'>;
  readonly audit: Pick<AuditLog, 'answer' | 'answerFresh'>;
  readonly layers: TenantLayers;
  readonly securityLog: SecurityLog;
  readonly maxBodyBytes: number;
}

interface ExecutePlace {
  readonly layer: PlannedLayer;
  readonly place: CommandPlace;
  /** Throws when nothing can run there. */
  readonly assertThere?: () => Promise<void>;
}

/** How much of each stream these answers carry: more than the default limit of a stream. */
const outputBytes = 1024 ** 2;

/** Commands in a user's view of a skill, or in the user's general sandbox. */
export function v1ExecuteRoutes(
  routes: GuardedRoutes<RouteName>,
  { runner, audit, layers, securityLog: log, maxBodyBytes }: V1ExecuteOptions,
): void {
  const readQuery = queryReader<ExecuteQuery>(executeQuerySchema);
  const readBody = jsonBody(maxBodyBytes).map(whereThereIsOne);

  const execute = async (
    request: Request,
    response: Response,
    caller: Principal,
    { layer, place, assertThere }: ExecutePlace,
  ) => {
    const { command: named } = readQuery(request);
    const { command, args } = refusedOnRecord({ request, caller, log }, () =>
      guardCommand(named, request.body, place),
    );
    const waitMs = preferredWait(request);
    const exec = { exec: { kind: 'argv' as const, command, args } };
    const options = { caller: askerOf(request, caller), idempotencyKey: idempotencyKey(request), layer };
    // A repeat is what it became before, also where it could not begin now.
    const earlier = await runner.findEarlier(exec, options);
    if (!earlier) await assertThere?.();
    const submitted = earlier ?? (await runner.submit(exec, options));
    const { failure, fresh } = await submitted.wait(waitMs);
    if (failure) throw failure;
    if (fresh && isWhole(fresh)) {
      response.json(success(toldOf(audit.answerFresh(fresh))));
      return;
    }
    const record = fresh?.record ?? (await runner.find({ tenant: caller.tenant, execId: submitted.execId }));
    if (!isFinal(record.status)) response.status(202).location(`/sandbox/execs/${record.exec_id}`);
    response.json(success(toldOf(await audit.answer(record, { outputBytes }))));
  };

  routes.on(
    'POST /v1/skills/{userId}/{agentId}/{skillId}/execute',
    async (request, response, caller) => {
      const place = skillIn(request, caller, log);
      const skills = await layers.of(caller.tenant);
      await execute(request, response, caller, {
        layer: { kind: 'skill', ...place },
        place: {
          kind: 'skill',
          printedRoot: skills.pathOf(place),
          otherRoots: [skills.baselinePathOf(place)],
        },
        // Said now: an exec that cannot begin would be on record.
        assertThere: async () => {
          if ((await skills.status(place)).deleted) throw deleted(place);
        },
      });
    },
    readBody,
  );

  routes.on(
    'POST /v1/sandbox/{userId}/{agentId}/execute',
    async (request, response, caller) => {
      const user = userIn(request, caller, log);
      const printedRoot = (await layers.of(caller.tenant)).sandboxOf(user);
      await execute(request, response, caller, {
        layer: { kind: 'sandbox', ...user },
        place: { kind: 'sandbox', printedRoot },
      });
    },
    readBody,
  );
}

function deleted({ skillId }: SkillPlace): SecboxError {
  return new SecboxError('skill_not_found', `There is no skill ${skillId}: the user deleted it.`, {
    details: { skillId },
  });
}

/** What is at hand of its output is as much as other answers have. */
function isWhole({ stdout, stderr }: FreshExec): boolean {
  return [stdout, stderr].every((text) => Buffer.byteLength(text) < answeredOutputBytes);
}

function toldOf(answer: ExecAnswer): ExecutedCommand {
  const isCut = (text: string) => Buffer.byteLength(text) >= outputBytes;
  return {
    stdout: answer.stdout,
    stderror: answer.stderr,
    exit_code: answer.exit_code,
    exec_id: answer.exec_id,
    status: answer.status,
    error_reason: answer.error_reason,
    duration_ms: answer.duration_ms,
    stdout_truncated: answer.stdout_truncated || isCut(answer.stdout),
    stderr_truncated: answer.stderr_truncated || isCut(answer.stderr),
    skill_version: answer.skill_version,
    skill_source: answer.skill_source,
    effects: answer.effects,
  };
}

/** No body is no arguments. */
function whereThereIsOne(handler: RequestHandler): RequestHandler {
  return (request, response, next) => {
    if (hasBody(request)) void handler(request, response, next);
    else next();
  };
}
