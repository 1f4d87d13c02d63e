import { execScopeOf } from '@secbox/access';
import type { AuditLog } from '@secbox/audit';
import {
  execListQuerySchema,
  execRequestSchema,
  isFinal,
  parseExecId,
  type ExecListQuery,
  type ExecRequest,
} from '@secbox/contracts';
import type { Caller, ExecRunner, SkillRun, SubmitOptions } from '@secbox/exec-runner';
import type { SkillCatalogue } from '@secbox/skills';
import type { Request, RequestHandler, Response } from 'express';
import { askerOf } from '../caller.js';
import type { GuardedRoutes } from '../guarded-routes.js';
import { assertMayRepeat, idempotencyKey } from '../idempotency-key.js';
import { jsonBody } from '../json-body.js';
import { receiveMultipart, type MultipartLimits } from '../multipart-exec.js';
import { preferredWait } from '../prefer.js';
import { queryReader } from '../read-query.js';
import type { RouteName } from '../route-access.js';
import { validatorOf } from '../validate.js';

export interface ExecRoutesOptions extends MultipartLimits {
  readonly runner: Pick<ExecRunner, 'submit' | 'findEarlier' | 'isTaken' | 'cancel' | 'find' | 'openIntake'>;
  readonly audit: AuditLog;
  readonly catalogue: SkillCatalogue;
}

export function execRoutes(
  routes: GuardedRoutes<RouteName>,
  { runner, audit, catalogue, ...limits }: ExecRoutesOptions,
): void {
  const readJson = jsonBody(limits.maxBodyBytes).map(unlessMultipart);
  const validate = validatorOf<ExecRequest>(execRequestSchema);
  const readList = queryReader<ExecListQuery>(execListQuerySchema);
  const intakeLimits = { maxBytes: limits.maxUploadBytes, maxSecretBytes: limits.maxBodyBytes };

  /** A repeat is what it became before, also where its skill is gone by now: submitting finds it in all other cases. */
  const submitOrFind = async (body: ExecRequest, options: SubmitOptions) => {
    let skill: SkillRun | undefined;
    try {
      skill = body.skill_id === undefined ? undefined : catalogue.rules(body.skill_id);
    } catch (error) {
      const earlier = await runner.findEarlier(body, options);
      if (!earlier) throw error;
      await options.intake?.discard();
      return earlier;
    }
    return runner.submit(body, { ...options, skill });
  };

  const submit = async (request: Request, response: Response, caller: Caller) => {
    const once = { caller, idempotencyKey: idempotencyKey(request) };
    if (!isMultipart(request)) return submitOrFind(validate(request.body), once);
    const intake = runner.openIntake(intakeLimits, { isRepeat: await runner.isTaken(once) });
    try {
      const body = validate(await receiveMultipart(request, response, intake, limits));
      return await submitOrFind(body, { ...once, intake });
    } catch (error) {
      await intake.discard();
      throw error;
    }
  };

  routes.on('GET /sandbox/execs', async (request, response, caller) => {
    const page = await audit.list(execScopeOf(caller), readList(request));
    response.setHeader('content-type', 'application/json; charset=utf-8').end(page);
  });

  routes.on(
    'POST /sandbox/execs',
    async (request, response, caller) => {
      const { tenant } = caller;
      const waitMs = preferredWait(request);
      const submitted = await submit(request, response, askerOf(request, caller));
      const { execId } = submitted;
      await assertMayRepeat(idempotencyKey(request), { audit, caller, execId });
      const { failure, fresh } = await submitted.wait(waitMs);
      if (failure) throw failure;
      if (fresh) {
        response.json(audit.answerFresh(fresh));
        return;
      }
      const record = await runner.find({ tenant, execId });
      if (!isFinal(record.status)) response.status(202).location(`/sandbox/execs/${record.exec_id}`);
      response.json(await audit.answer(record));
    },
    readJson,
  );

  routes.on('GET /sandbox/execs/{exec_id}', async (request, response, caller) => {
    response.json(await audit.answer(await audit.find(execScopeOf(caller), execIdIn(request))));
  });

  routes.on('POST /sandbox/execs/{exec_id}/cancel', async (request, response, caller) => {
    const execId = execIdIn(request);
    await audit.assertSeen(execScopeOf(caller), execId);
    response.json(await audit.answer(await runner.cancel({ tenant: caller.tenant, execId })));
  });
}

function execIdIn(request: Request) {
  return parseExecId(String(request.params['exec_id']));
}

function isMultipart(request: Request): boolean {
  return request.is('multipart/form-data') === 'multipart/form-data';
}

function unlessMultipart(handler: RequestHandler): RequestHandler {
  return (request, response, next) => {
    if (isMultipart(request)) {
      next();
      return;
    }
    return handler(request, response, next);
  };
}
