import { execScopeOf, type SecurityLog } from '@secbox/access';
import type { AuditLog } from '@secbox/audit';
import {
  execExportQuerySchema,
  execFilterSchema,
  securityEventQuerySchema,
  type ExecExportQuery,
  type ExecFilter,
  type SecurityEventQuery,
} from '@secbox/contracts';
import type { GuardedRoutes } from '../guarded-routes.js';
import { queryReader } from '../read-query.js';
import type { RouteName } from '../route-access.js';
import { asDownload, send } from '../send-file.js';

const mediaTypes = { jsonl: 'application/jsonl', csv: 'text/csv; charset=utf-8' } as const;

export interface AuditRoutesOptions {
  readonly audit: AuditLog;
  readonly securityLog: Pick<SecurityLog, 'list'>;
}

/** Reports over many execs. To be made before the routes of one exec, whose id these names are not. */
export function auditRoutes(
  routes: GuardedRoutes<RouteName>,
  { audit, securityLog }: AuditRoutesOptions,
): void {
  const readExport = queryReader<ExecExportQuery>(execExportQuerySchema);
  const readFilter = queryReader<ExecFilter>(execFilterSchema);
  const readEvents = queryReader<SecurityEventQuery>(securityEventQuerySchema);

  routes.on('GET /sandbox/execs/export', async (request, response, caller) => {
    const query = readExport(request);
    const lines = audit.export(execScopeOf(caller), query)[Symbol.asyncIterator]();
    // What fails before the first line can still be told.
    const first = request.method === 'HEAD' ? undefined : await lines.next();
    asDownload(response, `execs.${query.format}`, mediaTypes[query.format]);
    if (first === undefined || first.done === true) response.end();
    else await send(response, following(first.value, lines));
  });

  routes.on('GET /sandbox/execs/stats', async (request, response, caller) => {
    response.json(await audit.stats(execScopeOf(caller), readFilter(request)));
  });

  routes.on('GET /audit/events', async (request, response, caller) => {
    response.json(await securityLog.list(caller, readEvents(request)));
  });
}

async function* following<T>(first: T, rest: AsyncIterator<T>): AsyncGenerator<T> {
  yield first;
  yield* { [Symbol.asyncIterator]: () => rest };
}
