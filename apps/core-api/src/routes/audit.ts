import type { AuditLog } from '@secbox/audit';
import {
  execExportQuerySchema,
  execFilterSchema,
  type ExecExportQuery,
  type ExecFilter,
} from '@secbox/contracts';
import { Router } from 'express';
import { methodNotAllowed } from '../answer-errors.js';
import { queryReader } from '../read-query.js';
import { asDownload, send } from '../send-file.js';
import { callersTenant } from '../tenant.js';

const mediaTypes = { jsonl: 'application/jsonl', csv: 'text/csv; charset=utf-8' } as const;

/** Reports over many execs. To be mounted before the routes of one exec, whose id these names are not. */
export function auditRoutes(audit: AuditLog): Router {
  const router = Router();
  const readExport = queryReader<ExecExportQuery>(execExportQuerySchema);
  const readFilter = queryReader<ExecFilter>(execFilterSchema);

  router
    .route('/sandbox/execs/export')
    .get(async (request, response) => {
      const query = readExport(request);
      const lines = audit.export(callersTenant(), query)[Symbol.asyncIterator]();
      // What fails before the first line can still be told.
      const first = request.method === 'HEAD' ? undefined : await lines.next();
      asDownload(response, `execs.${query.format}`, mediaTypes[query.format]);
      if (first === undefined || first.done === true) response.end();
      else await send(response, following(first.value, lines));
    })
    .all(methodNotAllowed('GET', 'HEAD'));

  router
    .route('/sandbox/execs/stats')
    .get(async (request, response) => {
      response.json(await audit.stats(callersTenant(), readFilter(request)));
    })
    .all(methodNotAllowed('GET', 'HEAD'));

  return router;
}

async function* following<T>(first: T, rest: AsyncIterator<T>): AsyncGenerator<T> {
  yield first;
  yield* { [Symbol.asyncIterator]: () => rest };
}
