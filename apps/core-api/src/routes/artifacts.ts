import { outputStreams, outputType, type AuditLog } from '@secbox/audit';
import { pageQuerySchema, parseExecId, type PageQuery } from '@secbox/contracts';
import { Router } from 'express';
import { methodNotAllowed } from '../answer-errors.js';
import { queryReader } from '../read-query.js';
import { asDownload, send, sendFile } from '../send-file.js';
import { callersTenant } from '../tenant.js';

/** What one exec saw, printed and left behind. */
export function artifactRoutes(audit: AuditLog): Router {
  const router = Router();
  const readPage = queryReader<PageQuery>(pageQuerySchema);

  router
    .route('/sandbox/execs/:execId/artifacts')
    .get(async (request, response) => {
      const execId = parseExecId(request.params.execId);
      response.json(await audit.artifacts(callersTenant(), execId, readPage(request)));
    })
    .all(methodNotAllowed('GET', 'HEAD'));

  router
    .route('/sandbox/execs/:execId/inputs')
    .get(async (request, response) => {
      const execId = parseExecId(request.params.execId);
      response.json(await audit.inputs(callersTenant(), execId, readPage(request)));
    })
    .all(methodNotAllowed('GET', 'HEAD'));

  router
    .route('/sandbox/execs/:execId/artifacts.zip')
    .get(async (request, response) => {
      const execId = parseExecId(request.params.execId);
      const zip = await audit.zip(callersTenant(), execId);
      asDownload(response, `${execId}.zip`, 'application/zip');
      if (request.method === 'HEAD') {
        zip.destroy();
        response.end();
        return;
      }
      await send(response, zip);
    })
    .all(methodNotAllowed('GET', 'HEAD'));

  for (const stream of outputStreams) {
    router
      .route(`/sandbox/execs/:execId/${stream}`)
      .get(async (request, response) => {
        const execId = parseExecId(request.params.execId);
        const opened = await audit.openOutput(callersTenant(), execId, stream);
        const name = `${execId}-${stream}.txt`;
        if (opened) {
          await sendFile(request, response, opened, name);
          return;
        }
        asDownload(response, name, outputType);
        response.setHeader('content-length', 0).end();
      })
      .all(methodNotAllowed('GET', 'HEAD'));
  }

  // Without a parameter for the path: names need not be UTF-8, which Express would insist on.
  router
    .route(/^\/sandbox\/execs\/[^/]+\/artifacts\/.*$/)
    .get(async (request, response) => {
      const [, , , id = '', , ...path] = request.path.split('/');
      const opened = await audit.openArtifact(callersTenant(), parseExecId(id), path.join('/'));
      await sendFile(request, response, opened, opened.name);
    })
    .all(methodNotAllowed('GET', 'HEAD'));

  router
    .route(/^\/sandbox\/execs\/[^/]+\/inputs\/.*$/)
    .get(async (request, response) => {
      const [, , , id = '', , ...path] = request.path.split('/');
      const opened = await audit.openInput(callersTenant(), parseExecId(id), path.join('/'));
      await sendFile(request, response, opened, opened.name);
    })
    .all(methodNotAllowed('GET', 'HEAD'));

  return router;
}
