import { execScopeOf } from '@secbox/access';
import { outputStreams, outputType, type AuditLog } from '@secbox/audit';
import { pageQuerySchema, parseExecId, type PageQuery } from '@secbox/contracts';
import type { Request } from 'express';
import type { GuardedRoutes } from '../guarded-routes.js';
import { queryReader } from '../read-query.js';
import type { RouteName } from '../route-access.js';
import { asDownload, send, sendFile } from '../send-file.js';

/** What one exec saw, printed and left behind. */
export function artifactRoutes(routes: GuardedRoutes<RouteName>, audit: AuditLog): void {
  const readPage = queryReader<PageQuery>(pageQuerySchema);

  routes.on('GET /sandbox/execs/{exec_id}/artifacts', async (request, response, caller) => {
    response.json(await audit.artifacts(execScopeOf(caller), execIdIn(request), readPage(request)));
  });

  routes.on('GET /sandbox/execs/{exec_id}/inputs', async (request, response, caller) => {
    response.json(await audit.inputs(execScopeOf(caller), execIdIn(request), readPage(request)));
  });

  routes.on('GET /sandbox/execs/{exec_id}/artifacts.zip', async (request, response, caller) => {
    const execId = execIdIn(request);
    const zip = await audit.zip(execScopeOf(caller), execId);
    asDownload(response, `${execId}.zip`, 'application/zip');
    if (request.method === 'HEAD') {
      zip.destroy();
      response.end();
      return;
    }
    await send(response, zip);
  });

  for (const stream of outputStreams) {
    routes.on(`GET /sandbox/execs/{exec_id}/${stream}`, async (request, response, caller) => {
      const execId = execIdIn(request);
      const opened = await audit.openOutput(execScopeOf(caller), execId, stream);
      const name = `${execId}-${stream}.txt`;
      if (opened) {
        await sendFile(request, response, opened, name);
        return;
      }
      asDownload(response, name, outputType);
      response.setHeader('content-length', 0).end();
    });
  }

  routes.on('GET /sandbox/execs/{exec_id}/artifacts/{path}', async (request, response, caller) => {
    const { execId, path } = fileIn(request);
    const opened = await audit.openArtifact(execScopeOf(caller), execId, path);
    await sendFile(request, response, opened, opened.name);
  });

  routes.on('GET /sandbox/execs/{exec_id}/inputs/{path}', async (request, response, caller) => {
    const { execId, path } = fileIn(request);
    const opened = await audit.openInput(execScopeOf(caller), execId, path);
    await sendFile(request, response, opened, opened.name);
  });
}

function execIdIn(request: Request) {
  return parseExecId(String(request.params['exec_id']));
}

function fileIn({ path: url }: Request) {
  const [, , , id = '', , ...path] = url.split('/');
  return { execId: parseExecId(id), path: path.join('/') };
}
