import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { isFinal, type ExecAnswer } from '@secbox/contracts';
import { WebSocket, type ClientOptions } from 'ws';
import { selfSigned } from '../access/self-signed.js';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { everything, gateOf } from './gated-service.js';

let service: RunningService | undefined;
afterEach(() => service?.close());

interface Message {
  readonly type: string;
  readonly approvals?: readonly { readonly exec_id: string }[];
}

test('behind TLS an approver is on the line, decides, and pages of other sites are not let in', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'secbox-'));
  service = await startRunningService({ SECBOX_AUTH: 'keys' }, folder);
  const gate = await gateOf(service);
  await gate.put({ approvals: everything });
  const { exec_id: id, plan_hash } = await gate.hold('echo secured');
  await service.stop();

  const { cert, key } = selfSigned();
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  await writeFile(certFile, cert);
  await writeFile(keyFile, key);
  const tls = { SECBOX_TLS_CERT: certFile, SECBOX_TLS_KEY: keyFile };
  service = await startRunningService({ SECBOX_AUTH: 'keys', ...tls }, folder);
  const { port } = new URL(service.url);
  const place = `localhost:${port}`;
  const trusting = { ca: cert, servername: 'localhost', host: '127.0.0.1' };
  const open = (options: ClientOptions) =>
    new WebSocket(`wss://${place}/approvals/live`, ['secbox.approvals.v1'], {
      ca: cert,
      headers: { authorization: `Bearer ${gate.keys.approver}` },
      ...options,
    });

  const plain = new WebSocket(`ws://${place}/approvals/live`);
  await once(plain, 'error');
  const refused = open({ origin: 'https://evil.example' });
  const [, response] = (await once(refused, 'unexpected-response')) as [unknown, { statusCode: number }];
  expect(response.statusCode).toBe(403);
  refused.on('error', () => undefined);
  refused.terminate();

  const socket = open({ origin: `https://${place}` });
  const messages: Message[] = [];
  socket.on('message', (data: Buffer) => void messages.push(JSON.parse(data.toString()) as Message));
  await once(socket, 'open');
  const heard = async (type: string) => {
    for (;;) {
      const found = messages.find((message) => message.type === type);
      if (found) return found;
      await once(socket, 'message');
    }
  };
  expect((await heard('approvals.pending')).approvals?.map(({ exec_id }) => exec_id)).toEqual([id]);
  socket.send(JSON.stringify({ type: 'decide', approval_id: id, decision: 'approve', plan_hash, id: '1' }));
  expect(await heard('decided')).toMatchObject({
    approval: { state: 'approved', decided_by: gate.approverId },
  });
  await heard('approval.settled');
  socket.terminate();

  const find = async (): Promise<ExecAnswer> => {
    const headers = { host: 'localhost', authorization: `Bearer ${gate.keys.worker}` };
    const asked = get({ ...trusting, port, path: `/sandbox/execs/${id}`, headers });
    const [response] = (await once(asked, 'response')) as [NodeJS.ReadableStream];
    return JSON.parse(await text(response)) as ExecAnswer;
  };
  let exec = await find();
  for (; !isFinal(exec.status); exec = await find()) await sleep(20);
  expect(exec).toMatchObject({ status: 'succeeded', stdout: 'secured\n' });
});
