import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { readCall } from '../command.js';
import { Terminal } from '../terminal.js';
import { skillPush } from './push.js';

let folder: string;
let server: Server;
let received: number;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-push-'));
  received = 0;
  server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => (received += chunk.length));
    request.on('end', () => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ status: 'success', data: 'Upload successful' }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  server.close();
  await rm(folder, { recursive: true });
});

function screen(isTTY: boolean) {
  const state = { text: '' };
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      state.text += chunk.toString();
      done();
    },
  });
  return { state, stream: Object.assign(stream, { isTTY, columns: 80 }) as never };
}

/** Pushes so many bytes; gives what is on stdout and on stderr afterwards. */
async function push(bytes: number, isTTY: boolean): Promise<[result: string, said: string]> {
  await writeFile(join(folder, 'large.zip'), Buffer.alloc(bytes));
  const [stdout, stderr] = [screen(isTTY), screen(isTTY)];
  const terminal = new Terminal({
    stdin: process.stdin,
    stdout: stdout.stream,
    stderr: stderr.stream,
    plain: true,
  });
  const { port } = server.address() as AddressInfo;
  const call = readCall(skillPush, ['large.zip', '--user', 'u', '--agent', 'a']);
  await skillPush.run(call, {
    terminal,
    stopped: new AbortController().signal,
    cwd: folder,
    root: folder,
    environment: { SECBOX_URL: `http://127.0.0.1:${port}` },
    connect: () => {
      throw new Error('It sends the archive by itself.');
    },
  });
  return [stdout.state.text, stderr.state.text];
}

test('on a terminal a large upload says how far it is, from the beginning to the end', async () => {
  const bytes = 4 * 1024 ** 2;
  const [result, said] = await push(bytes, true);
  expect(received).toBeGreaterThan(bytes);
  const told = [...said.matchAll(/ of .*?, (\d+) %/g)].map(([, percent]) => Number(percent));
  expect(told.length).toBeGreaterThan(10);
  expect(told).toEqual([...told].sort((a, b) => a - b));
  expect([told[0], told.at(-1)]).toEqual([expect.any(Number), 100]);
  expect(told[0]).toBeLessThan(10);
  expect(said.endsWith('Waiting for the server to take it over …\r\u001b[K')).toBe(true);
  expect(result).toBe('Upload successful\n');
});

test('where nobody looks there is the result alone', async () => {
  expect(await push(1024 ** 2, false)).toEqual(['Upload successful\n', '']);
});
