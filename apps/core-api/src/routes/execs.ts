import {
  execRequestSchema,
  parseExecId,
  SecboxError,
  type ExecRecord,
  type ExecRequest,
} from '@secbox/contracts';
import { readAnswer, type ExecRunner } from '@secbox/exec-runner';
import type { Workspace } from '@secbox/workspace';
import { Router, type Request, type Response } from 'express';
import { methodNotAllowed } from '../answer-errors.js';
import { jsonBody } from '../json-body.js';
import { validatorOf } from '../validate.js';

export interface ExecRoutesOptions {
  readonly runner: Pick<ExecRunner, 'run'>;
  readonly execs: { find(execId: ExecRecord['exec_id']): Promise<ExecRecord | undefined> };
  readonly workspace: Workspace;
  readonly maxBodyBytes: number;
}

export function execRoutes({ runner, execs, workspace, maxBodyBytes }: ExecRoutesOptions): Router {
  const router = Router();
  const readBody = jsonBody(maxBodyBytes);
  const validate = validatorOf<ExecRequest>(execRequestSchema);

  router
    .route('/sandbox/execs')
    .post(readBody, async (request: Request, response: Response) => {
      const record = await runner.run(validate(request.body));
      response.json(await readAnswer(record, workspace));
    })
    .all(methodNotAllowed('POST'));

  router
    .route('/sandbox/execs/:execId')
    .get(async (request, response) => {
      const execId = parseExecId(request.params.execId);
      const record = await execs.find(execId);
      if (!record) throw new SecboxError('exec_not_found', `There is no exec ${execId}.`);
      response.json(await readAnswer(record, workspace));
    })
    .all(methodNotAllowed('GET', 'HEAD'));

  return router;
}
