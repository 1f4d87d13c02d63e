import { execScopeOf } from '@secbox/access';
import type { AuditLog } from '@secbox/audit';
import {
  invocationRequestSchema,
  isFinal,
  parseExecId,
  skillListQuerySchema,
  type InvocationRequest,
  type SkillListQuery,
} from '@secbox/contracts';
import type { ExecRunner } from '@secbox/exec-runner';
import type { SkillCatalogue, SkillInvoker } from '@secbox/skills';
import type { Request } from 'express';
import { askerOf } from '../caller.js';
import type { GuardedRoutes } from '../guarded-routes.js';
import { assertMayRepeat, idempotencyKey } from '../idempotency-key.js';
import { jsonBody } from '../json-body.js';
import { preferredWait } from '../prefer.js';
import { queryReader } from '../read-query.js';
import type { RouteName } from '../route-access.js';
import { validatorOf } from '../validate.js';

export interface SkillRoutesOptions {
  readonly catalogue: SkillCatalogue;
  readonly invoker: SkillInvoker;
  readonly runner: Pick<ExecRunner, 'find'>;
  readonly audit: Pick<AuditLog, 'find' | 'sees'>;
  readonly maxBodyBytes: number;
}

/** Skills as functions. */
export function skillRoutes(
  routes: GuardedRoutes<RouteName>,
  { catalogue, invoker, runner, audit, maxBodyBytes }: SkillRoutesOptions,
): void {
  const readList = queryReader<SkillListQuery>(skillListQuerySchema);
  const validate = validatorOf<InvocationRequest>(invocationRequestSchema);

  routes.on('GET /skills', (request, response) => {
    const query = readList(request);
    const etag = `"${catalogue.revision}"`;
    response.setHeader('etag', etag).setHeader('cache-control', 'private, no-cache');
    if (request.headers['if-none-match'] === etag) response.status(304).end();
    else response.json(catalogue.list(query));
  });

  routes.on('GET /skills/{skill_id}', (request, response) => {
    response.json(catalogue.detail(skillIdIn(request)));
  });

  routes.on('GET /skills/{skill_id}/files', (request, response) => {
    response.json(catalogue.files(skillIdIn(request)));
  });

  routes.on(
    'POST /skills/{skill_id}/invoke',
    async (request, response, caller) => {
      const { tenant } = caller;
      const skillId = skillIdIn(request);
      const waitMs = preferredWait(request);
      const key = idempotencyKey(request);
      const invoked = await invoker.invoke(askerOf(request, caller), skillId, validate(request.body), {
        idempotencyKey: key,
        scope: execScopeOf(caller),
      });
      const { execId } = invoked;
      await assertMayRepeat(key, { audit, caller, execId });
      const { failure, fresh } = await invoked.wait(waitMs);
      if (failure) throw failure;
      if (fresh) {
        response.json(await invoker.answerFresh(skillId, fresh));
        return;
      }
      const record = await runner.find({ tenant, execId });
      if (!isFinal(record.status))
        response.status(202).location(`/skills/${skillId}/execs/${record.exec_id}`);
      response.json(await invoker.answer(skillId, record));
    },
    jsonBody(maxBodyBytes),
  );

  routes.on('GET /skills/{skill_id}/execs/{exec_id}', async (request, response, caller) => {
    const record = await audit.find(execScopeOf(caller), parseExecId(String(request.params['exec_id'])));
    response.json(await invoker.answer(skillIdIn(request), record));
  });
}

function skillIdIn(request: Request): string {
  return String(request.params['skill_id']);
}
