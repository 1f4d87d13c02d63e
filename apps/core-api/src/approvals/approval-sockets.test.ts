import { expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer, ServerResponse, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { everyone } from '@secbox/access';
import { newExecId, SecboxError } from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import type { Request, Response } from 'express';
import { WebSocket } from 'ws';
import { ApprovalSockets } from './approval-sockets.js';

const approve = { decision: 'approve', plan_hash: 'a'.repeat(64) };

test('of what fails, the log has what callers cannot mend', async () => {
  const logged: unknown[] = [];
  const failures = [
    new SecboxError('database_unavailable', 'The database is locked.'),
    new Error('a mistake of ours'),
    new SecboxError('exec_not_found', 'There is no such exec.'),
  ];
  const failing = [...failures];
  const sockets = new ApprovalSockets({
    approvals: {
      list: () => Promise.resolve({ approvals: [], next_cursor: null }),
      decide: () => Promise.reject(failing.shift() ?? new Error('too many')),
    },
    logger: { warn: (_event: string, fields: object) => logged.push(fields) } as unknown as Logger,
  });
  const server = createServer().listen(0, '127.0.0.1');
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const response = new ServerResponse(request);
    response.assignSocket(socket);
    const who = { caller: everyone, countMessage: () => undefined, admit: () => Promise.resolve(everyone) };
    sockets.accept(request as Request, response as Response, { socket, head }, who);
  });
  await once(server, 'listening');
  const line = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const told: unknown[] = [];
  line.on('message', (data: Buffer) => told.push(JSON.parse(data.toString())));
  await once(line, 'message');
  for (const id of ['1', '2', '3']) {
    line.send(JSON.stringify({ type: 'decide', id, approval_id: newExecId(), ...approve }));
    await once(line, 'message');
  }
  expect(told.slice(1)).toMatchObject([
    { id: '1', error: { code: 'database_unavailable' } },
    { id: '2', error: { code: 'internal_error' } },
    { id: '3', error: { code: 'exec_not_found' } },
  ]);
  expect(logged).toEqual(failures.slice(0, 2).map((error) => ({ error })));
  line.terminate();
  sockets.close();
  server.close();
});
