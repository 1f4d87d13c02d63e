import { once } from 'node:events';
import { execScopeOf } from '@secbox/access';
import type { AuditLog } from '@secbox/audit';
import { parseExecId, SecboxError } from '@secbox/contracts';
import type { ExecEvent, ExecRunner, WatchPosition } from '@secbox/exec-runner';
import type { Request, Response } from 'express';
import type { GuardedRoutes } from '../guarded-routes.js';
import type { RouteName } from '../route-access.js';

/** Proxies drop a connection on which nothing moves. */
const heartbeatMs = 15_000;

export interface EventRoutesOptions {
  readonly runner: Pick<ExecRunner, 'watch'>;
  readonly audit: Pick<AuditLog, 'assertSeen'>;
}

/** `GET /sandbox/execs/{exec_id}/events`: state and output as server-sent events, resumable. */
export function eventRoutes(routes: GuardedRoutes<RouteName>, { runner, audit }: EventRoutesOptions): void {
  routes.on('GET /sandbox/execs/{exec_id}/events', async (request, response, caller) => {
    const execId = parseExecId(String(request.params['exec_id']));
    await audit.assertSeen(execScopeOf(caller), execId);
    const leaving = new AbortController();
    response.once('close', () => leaving.abort());
    const events = await runner.watch({ tenant: caller.tenant, execId }, positionOf(request), leaving.signal);
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.flushHeaders();
    const heartbeat = setInterval(() => {
      // To one who does not read it would be one more sign of life that is none.
      if (!response.writableNeedDrain) response.write(': still here\n\n');
    }, heartbeatMs);
    try {
      for await (const event of events) await send(response, textOf(event), leaving.signal);
    } finally {
      clearInterval(heartbeat);
    }
    response.end();
  });
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
