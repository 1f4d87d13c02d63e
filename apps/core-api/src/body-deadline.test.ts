import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Logger } from '@secbox/logging';
import express from 'express';
import { answerErrors } from './answer-errors.js';
import { bodyDeadline } from './body-deadline.js';

const timeoutMs = 200;
let server: Server;
beforeAll(async () => {
  const app = express();
  app.use(bodyDeadline(timeoutMs));
  app.put('/v1/full', () => {
    throw Object.assign(new Error('write'), { code: 'ENOSPC' });
  });
  app.use((incoming, response) => {
    incoming.resume();
    incoming.on('end', () => response.headersSent || response.json({}));
  });
  app.use(answerErrors({ error: () => undefined } as unknown as Logger));
  server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => void server.close());

async function putSlowly(path: string, type?: string): Promise<number | undefined> {
  const { port } = server.address() as AddressInfo;
  const headers = type === undefined ? {} : { 'content-type': type };
  const sending = request({ port, host: '127.0.0.1', path, method: 'PUT', headers });
  const answered = once(sending, 'response') as Promise<[IncomingMessage]>;
  sending.on('error', () => undefined);
  for (let n = 0; n < 8 && !sending.destroyed; n += 1) {
    sending.write(Buffer.alloc(4096));
    await sleep(timeoutMs / 2);
  }
  sending.end();
  const [response] = await answered;
  response.resume();
  return response.statusCode;
}

test('a file may take as long as it goes on, whatever its type; other bodies may not', async () => {
  const file = '/v1/skills/u/a/s/file';
  const types = [undefined, 'image/png', 'application/zip', 'application/octet-stream'];
  expect(await Promise.all(types.map((type) => putSlowly(file, type)))).toEqual([200, 200, 200, 200]);
  expect(await putSlowly('/v1/skills/u/a/s/edit', 'application/octet-stream')).toBe(408);
});

test('a full disk is told as one, whoever met it', async () => {
  expect(await putSlowly('/v1/full')).toBe(503);
});
