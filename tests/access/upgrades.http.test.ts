import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { startRunningService, type RunningService } from '../exec/running-service.js';

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
});
afterAll(() => service.close());

/** As clients do that could speak HTTP/2. */
function send(method: string, path: string, upgrade: string, body?: string) {
  return new Promise<{ readonly status: number | undefined; readonly body: string }>((resolve, reject) => {
    const headers = {
      connection: 'Upgrade, HTTP2-Settings',
      upgrade,
      'http2-settings': 'AAMAAABkAAQCAAAAAAIAAAAA',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const sent = request(`${service.url}${path}`, { method, headers }, (response) => {
      void text(response).then((answer) => resolve({ status: response.statusCode, body: answer }), reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

test('a request that would rather have HTTP/2 is answered as it is, its body too', async () => {
  expect(await send('GET', '/healthz', 'h2c')).toEqual({ status: 200, body: '{"status":"ok"}' });
  const exec = { kind: 'shell', command: 'bash', args: ['-lc', 'wc -c'], stdin: 'x'.repeat(100_000) };
  const ran = await send('POST', '/sandbox/execs', 'h2c', JSON.stringify({ project_id: 'p', exec }));
  expect(ran.status).toBe(200);
  expect(JSON.parse(ran.body)).toMatchObject({ stdout: '100000\n' });
  const posted = await send('POST', '/sandbox/execs', 'websocket', '{}');
  expect(posted.status).toBe(400);
});

test('a WebSocket is answered as a request where there is none', async () => {
  expect((await send('GET', '/healthz', 'websocket')).status).toBe(200);
  expect((await send('GET', '/nothing', 'websocket')).status).toBe(404);
});
