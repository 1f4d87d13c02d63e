import { once } from 'node:events';
import { parseExecId, SecboxError } from '@secbox/contracts';
import type { ExecEvent, ExecRunner, WatchPosition } from '@secbox/exec-runner';
import { Router, type Request, type Response } from 'express';
import { methodNotAllowed } from '../answer-errors.js';

/** Proxies drop a connection on which nothing moves. */
const heartbeatMs = 15_000;

/** `GET /sandbox/execs/{exec_id}/events`: state and output as server-sent events, resumable. */
export function eventRoutes(runner: Pick<ExecRunner, 'watch'>): Router {
  const router = Router();

  router
    .route('/sandbox/execs/:execId/events')
    .get(async (request, response) => {
      const leaving = new AbortController();
      response.once('close', () => leaving.abort());
      const events = await runner.watch(
        parseExecId(request.params.execId),
        positionOf(request),
        leaving.signal,
      );
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      response.flushHeaders();
      const heartbeat = setInterval(() => response.write(': still here\n\n'), heartbeatMs);
      try {
        for await (const event of events) await send(response, textOf(event), leaving.signal);
      } finally {
        clearInterval(heartbeat);
      }
      response.end();
    })
    .all(methodNotAllowed('GET', 'HEAD'));

  return router;
}

/** A slow reader slows the stream down, and one that left ends it. */
async function send(response: Response, text: string, leaving: AbortSignal): Promise<void> {
  if (response.write(text) || leaving.aborted) return;
  await once(response, 'drain', { signal: leaving }).catch(() => undefined);
}

function textOf(event: ExecEvent): string {
  const { stdout, stderr, state } = event.position;
  const data = event.type === 'state' ? { status: event.status } : { base64: event.data.toString('base64') };
  return `id: ${stdout}.${stderr}.${state}\nevent: ${event.type}\ndata: ${JSON.stringify(data)}\n\n`;
}

const beginning: WatchPosition = { stdout: 0, stderr: 0, state: 0 };

function positionOf(request: Request): WatchPosition {
  const header = request.headers['last-event-id'];
  if (header === undefined || header === '') return beginning;
  const match = /^(\d{1,15})\.(\d{1,15})\.([0-3])$/.exec(String(header));
  if (!match) {
    throw new SecboxError('invalid_request', 'Last-Event-ID must be the id of an event of this stream.');
  }
  const [stdout = 0, stderr = 0, state = 0] = match.slice(1).map(Number);
  return { stdout, stderr, state };
}
