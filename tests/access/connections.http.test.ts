import { afterEach, describe, expect, test } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceOptions } from '@secbox/core-api';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { openConnection, sendRaw, statusesIn, type RawConnection } from './raw-connection.js';
import { rawRequest } from './raw-request.js';
import { selfSigned } from './self-signed.js';

let service: RunningService;
const open: RawConnection[] = [];
afterEach(async () => {
  for (const connection of open.splice(0)) connection.end();
  await service.close();
});

const start = async (
  limits: NonNullable<ServiceOptions['limits']>,
  environment: Record<string, string> = {},
) => {
  service = await startRunningService({ SECBOX_POOL_SIZE: '0', ...environment }, undefined, { limits });
};
const begin = async () => {
  const connection = await openConnection(service.url);
  open.push(connection);
  return connection;
};
const health = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n';
const isAnswered = async () => (await rawRequest(`${service.url}/healthz`, {})).status;

describe('headers', () => {
  test('of more than 16 kB together with the URL are a 431, of a little less are read (case 56)', async () => {
    await start({});
    const answerTo = async (path: string, filler: number) =>
      statusesIn(
        await sendRaw(
          service.url,
          `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Filler: ${'a'.repeat(filler)}\r\n\r\n`,
        ),
      );
    expect(await answerTo('/healthz', 15_000)).toEqual([200]);
    expect(await answerTo('/healthz', 16_384)).toEqual([431]);
    expect(await answerTo(`/${'a'.repeat(16_384)}`, 0)).toEqual([431]);
    expect(await answerTo(`/${'a'.repeat(9000)}`, 9000)).toEqual([431]);
    expect(await isAnswered()).toBe(200);
  });

  test('however many they are, the last one counts too', async () => {
    await start({});
    const many = 'a:b\r\n'.repeat(2500);
    const text = await sendRaw(
      service.url,
      `${health}Connection: close\r\n${many}Origin: http://evil.example\r\n\r\n`,
    );
    expect(statusesIn(text)).toEqual([403]);
    // Also of an error: who asks for the end of the connection gets it.
    expect(text).toMatch(/\r\nConnection: close\r\n/);
  });

  test('that come slowly, or not at all, are a 408 and the end, while others are answered (case 56)', async () => {
    await start({ headersTimeout: 500 });
    const [slow, silent, second] = [await begin(), await begin(), await begin()];
    second.socket.write(`${health}\r\n`);
    await second.until(/\{"status":"ok"\}/);
    second.socket.write('GET /healthz HT');
    slow.socket.write('GET /healthz HTTP/1.1\r\nX-Slow: ');
    const drip = setInterval(() => slow.socket.writable && slow.socket.write('a'), 50);
    try {
      expect(await isAnswered()).toBe(200);
      expect(statusesIn(await slow.closed)).toEqual([408]);
      expect(statusesIn(await silent.closed)).toEqual([408]);
      expect(statusesIn(await second.closed)).toEqual([200, 408]);
    } finally {
      clearInterval(drip);
    }
    expect(await isAnswered()).toBe(200);
  });
});

describe('connections', () => {
  test('past their number are not taken, and are again when one ends (case 59)', async () => {
    await start({ maxConnections: 3 });
    const kept = [await begin(), await begin(), await begin()];
    for (const { socket, until } of kept) {
      socket.write(`${health}\r\n`);
      await until(/\{"status":"ok"\}/);
    }
    expect(await sendRaw(service.url, `${health}\r\n`)).toBe('');
    kept[0]?.socket.write(`${health}\r\n`);
    await kept[0]?.until(/(\{"status":"ok"\}[^]*){2}/);
    kept[1]?.end();
    // The server hears of it a little later.
    let again = '';
    while (again === '') {
      again = await sendRaw(service.url, `${health}Connection: close\r\n\r\n`);
      await sleep(10);
    }
    expect(statusesIn(again)).toEqual([200]);
  });

  test('carry one request after the other, and are ended when none comes', async () => {
    await start({ keepAliveTimeout: 500 });
    const { socket, until, closed } = await begin();
    socket.write(`${health}\r\n`);
    expect(await until(/\{"status":"ok"\}/)).toMatch(/\r\nConnection: keep-alive\r\n/);
    socket.write(`${health}\r\n${health}\r\n`);
    expect(statusesIn(await closed)).toEqual([200, 200, 200]);
  });

  test('are kept longer than callers are told, so that none is ended under a request on its way', async () => {
    await start({ keepAliveTimeout: 8000 });
    const { socket, until, closed } = await begin();
    socket.write(`${health}\r\n`);
    expect(await until(/\{"status":"ok"\}/)).toMatch(/\r\nkeep-alive: timeout=5\r\n/i);
    socket.write(`${health}Connection: close\r\n\r\n`);
    expect(statusesIn(await closed)).toEqual([200, 200]);
  });

  test('of which nobody takes the answer are ended; those whose answer is still being made are not', async () => {
    await start({ answerTimeout: 500 });
    const path = '/docs/swagger-ui-bundle.js';
    const { socket } = await begin();
    socket.pause();
    // More than fits between the two of them.
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(30));
    const { stdout } = await service.shell('sleep 2; echo done');
    expect(stdout).toBe('done\n');
    const cutOff = () =>
      service
        .log()
        .split('\n')
        .some((line) => line.includes(`"path":"${path}"`) && line.includes('"aborted":true'));
    while (!cutOff()) await sleep(20);
  });

  test('on which TLS is not agreed on are ended', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'secbox-handshake-'));
    try {
      const { cert, key } = selfSigned();
      const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
      await writeFile(certFile, cert);
      await writeFile(keyFile, key);
      await start({ headersTimeout: 500 }, { SECBOX_TLS_CERT: certFile, SECBOX_TLS_KEY: keyFile });
      const [silent, slow] = [await begin(), await begin()];
      slow.socket.write(Buffer.from('1603010200', 'hex'));
      expect([await silent.closed, await slow.closed]).toEqual(['', '']);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('bodies', () => {
  test('of one byte too many are a 413, told before they are read; those that just fit are read (case 56)', async () => {
    await start({}, { SECBOX_MAX_BODY_MB: '1' });
    const largest = 1024 ** 2;
    const post = (path: string, bytes: number, announced = true) =>
      rawRequest(`${service.url}${path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(announced ? { 'content-length': String(bytes) } : {}),
        },
        send: (stream) => void stream.end(Buffer.from('{}'.padEnd(bytes))),
      });
    const results = [];
    for (const announced of [true, false]) {
      for (const [path, bytes] of [
        ['/sandbox/execs', largest],
        ['/sandbox/execs', largest + 1],
        ['/skills/shell.run/invoke', largest + 1],
        ['/keys', 64 * 1024],
        ['/keys', 64 * 1024 + 1],
      ] as const) {
        results.push((await post(path, bytes, announced)).status);
      }
    }
    const each = [400, 413, 413, 400, 413];
    expect(results).toEqual([...each, ...each]);
    // Only the headers were sent, and yet there is an answer.
    const { socket, until } = await begin();
    socket.write(
      `POST /sandbox/execs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${largest + 1}\r\n\r\n`,
    );
    expect(statusesIn(await until(/\r\n\r\n/))).toEqual([413]);
  });
});
