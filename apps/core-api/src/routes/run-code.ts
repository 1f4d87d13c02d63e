import { execScopeOf } from '@secbox/access';
import type { AuditLog } from '@secbox/audit';
import { isFinal, parseExecId, runCodeRequestSchema, type RunCodeRequest } from '@secbox/contracts';
import type { ExecRunner } from '@secbox/exec-runner';
import type { CodeRunner } from '@secbox/run-code';
import { askerOf } from '../caller.js';
import type { GuardedRoutes } from '../guarded-routes.js';
import { assertMayRepeat, idempotencyKey } from '../idempotency-key.js';
import { jsonBody } from '../json-body.js';
import { preferredWait } from '../prefer.js';
import type { RouteName } from '../route-access.js';
import { validatorOf } from '../validate.js';

export interface RunCodeRoutesOptions {
  readonly codeRunner: CodeRunner;
  readonly runner: Pick<ExecRunner, 'find'>;
  readonly audit: Pick<AuditLog, 'find' | 'sees'>;
  readonly maxBodyBytes: number;
}

/** Code in, what came of it out. */
export function runCodeRoutes(
  routes: GuardedRoutes<RouteName>,
  { codeRunner, runner, audit, maxBodyBytes }: RunCodeRoutesOptions,
): void {
  const validate = validatorOf<RunCodeRequest>(runCodeRequestSchema);

  routes.on(
    'POST /run_code',
    async (request, response, caller) => {
      const { tenant } = caller;
      const waitMs = preferredWait(request);
      const asked = validate(request.body);
      const key = idempotencyKey(request);
      const submitted = await codeRunner.submit(askerOf(request, caller), asked, { idempotencyKey: key });
      const { execId } = submitted;
      await assertMayRepeat(key, { audit, caller, execId });
      // Beside the run; the answer has it.
      void codeRunner.assess(execId, asked);
      const { failure, fresh } = await submitted.wait(waitMs);
      if (failure) throw failure;
      if (fresh) {
        response.json(await codeRunner.answerFresh(fresh));
        return;
      }
      const exec = await runner.find({ tenant, execId });
      if (!isFinal(exec.status)) response.status(202).location(`/run_code/${exec.exec_id}`);
      response.json(await codeRunner.answer(exec));
    },
    jsonBody(maxBodyBytes),
  );

  routes.on('GET /run_code/{exec_id}', async (request, response, caller) => {
    const execId = parseExecId(String(request.params['exec_id']));
    response.json(await codeRunner.answer(await audit.find(execScopeOf(caller), execId)));
  });
}
