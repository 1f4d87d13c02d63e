import type { AuditLog } from '@secbox/audit';
import {
  execListQuerySchema,
  execRequestSchema,
  isFinal,
  parseExecId,
  SecboxError,
  type ExecListQuery,
  type ExecRequest,
} from '@secbox/contracts';
import type { ExecRunner } from '@secbox/exec-runner';
import { Router, type Request, type RequestHandler, type Response } from 'express';
import { methodNotAllowed } from '../answer-errors.js';
import { jsonBody } from '../json-body.js';
import { receiveMultipart, type MultipartLimits } from '../multipart-exec.js';
import { preferredWait } from '../prefer.js';
import { queryReader } from '../read-query.js';
import { callersTenant } from '../tenant.js';
import { validatorOf } from '../validate.js';

export interface ExecRoutesOptions extends MultipartLimits {
  readonly runner: Pick<ExecRunner, 'submit' | 'cancel' | 'find' | 'openIntake'>;
  readonly audit: AuditLog;
}

export function execRoutes({ runner, audit, ...limits }: ExecRoutesOptions): Router {
  const router = Router();
  const readJson = jsonBody(limits.maxBodyBytes).map(unlessMultipart);
  const validate = validatorOf<ExecRequest>(execRequestSchema);
  const readList = queryReader<ExecListQuery>(execListQuerySchema);
  const intakeLimits = { maxBytes: limits.maxUploadBytes, maxSecretBytes: limits.maxBodyBytes };

  const submit = async (request: Request, response: Response) => {
    const key = idempotencyKey(request);
    if (!isMultipart(request)) return runner.submit(validate(request.body), { idempotencyKey: key });
    const intake = runner.openIntake(intakeLimits);
    try {
      const body = validate(await receiveMultipart(request, response, intake, limits));
      return await runner.submit(body, { idempotencyKey: key, intake });
    } catch (error) {
      await intake.discard();
      throw error;
    }
  };

  router
    .route('/sandbox/execs')
    .get(async (request, response) => {
      response.json(await audit.list(callersTenant(), readList(request)));
    })
    .post(readJson, async (request: Request, response: Response) => {
      const waitMs = preferredWait(request);
      const submitted = await submit(request, response);
      const failure = await submitted.wait(waitMs);
      if (failure) throw failure;
      const record = await runner.find(submitted.execId);
      if (!isFinal(record.status)) response.status(202).location(`/sandbox/execs/${record.exec_id}`);
      response.json(await audit.answer(record));
    })
    .all(methodNotAllowed('GET', 'HEAD', 'POST'));

  router
    .route('/sandbox/execs/:execId')
    .get(async (request, response) => {
      const record = await audit.find(callersTenant(), parseExecId(request.params.execId));
      response.json(await audit.answer(record));
    })
    .all(methodNotAllowed('GET', 'HEAD'));

  router
    .route('/sandbox/execs/:execId/cancel')
    .post(async (request, response) => {
      const record = await runner.cancel(parseExecId(request.params.execId));
      response.json(await audit.answer(record));
    })
    .all(methodNotAllowed('POST'));

  return router;
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

function idempotencyKey(request: Request): string | undefined {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return undefined;
  if (typeof header === 'string' && /^[\x21-\x7e]{1,255}$/.test(header)) return header;
  throw new SecboxError('invalid_request', 'Idempotency-Key must be 1 to 255 visible ASCII characters.');
}
