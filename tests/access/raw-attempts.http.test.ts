import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { routeAccess, type RouteAccess } from '@secbox/core-api';
import { startKeyedService, type KeyedService } from './keyed-service.js';
import { sendRaw, statusesIn } from './raw-connection.js';

let service: KeyedService;
let admin: string;
let worker: string;
let approver: string;
beforeAll(async () => {
  service = await startKeyedService({ SECBOX_POOL_SIZE: '0' });
  admin = (await service.makeKey('default', ['admin'])).key;
  worker = (await service.makeKey('default', ['worker'])).key;
  approver = (await service.makeKey('default', ['approver'])).key;
});
afterAll(() => service.close());

const host = 'Host: localhost\r\n';
const bearer = (key: string) => `Authorization: Bearer ${key}\r\n`;
/** The statuses of what comes back until the connection ends. */
const send = async (line: string, headers: string, body = '') =>
  statusesIn(await sendRaw(service.url, `${line} HTTP/1.1\r\n${headers}Connection: close\r\n\r\n${body}`));

describe('a request that is two to somebody else is none to us', () => {
  const json = 'Content-Type: application/json\r\n';
  const hidden = () => `0\r\n\r\nGET /settings HTTP/1.1\r\n${host}${bearer(admin)}\r\n`;

  test.each([
    ['a length and chunks', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n'],
    ['chunks and a length', 'Transfer-Encoding: chunked\r\nContent-Length: 4\r\n'],
    ['another encoding', 'Transfer-Encoding: xchunked\r\n'],
    ['chunks that are not last', 'Transfer-Encoding: chunked, identity\r\n'],
    ['two lengths', 'Content-Length: 4\r\nContent-Length: 5\r\n'],
    ['a length with a sign', 'Content-Length: +4\r\n'],
    ['a length in hexadecimal', 'Content-Length: 0x4\r\n'],
    ['a space behind the name', 'Content-Length : 4\r\n'],
    ['a folded line', 'X-A: b\r\n Content-Length: 4\r\n'],
    ['a line that ends with CR', 'X-A: b\rContent-Length: 4\r\n'],
    ['a line that ends with LF', 'X-A: b\nContent-Length: 4\r\n'],
  ])('%s', async (_, framing) => {
    expect(await send('POST /keys', `${host}${bearer(admin)}${json}${framing}`, hidden())).toEqual([400]);
  });
});

describe('who asks, and whom, is said once', () => {
  test.each([
    ['two hosts', () => `${host}Host: evil.example\r\n${bearer(admin)}`],
    ['the same host twice', () => `${host}${host}${bearer(admin)}`],
    ['two keys', () => `${host}${bearer(admin)}${bearer(worker)}`],
    ['two keys, the other way', () => `${host}${bearer(worker)}${bearer(admin)}`],
    ['a key of each kind', () => `${host}${bearer(admin)}X-API-Key: ${worker}\r\n`],
    ['a key of each kind, the other way', () => `${host}X-API-Key: ${admin}\r\n${bearer(worker)}`],
    ['a key twice', () => `${host}X-API-Key: ${admin}\r\nx-api-key: ${admin}\r\n`],
  ])('%s are a 400', async (_, headers) => {
    expect(await send('GET /settings', headers())).toEqual([400]);
  });

  test.each([
    ['in the URL', (key: string) => [`/settings?key=${key}&access_token=${key}&x-api-key=${key}`, '']],
    [
      'in a cookie',
      (key: string) => ['/settings', `Cookie: authorization=Bearer ${key}; x-api-key=${key}\r\n`],
    ],
    [
      'in a header of another name',
      (key: string) => ['/settings', `X_API_Key: ${key}\r\nApiKey: ${key}\r\n`],
    ],
    ['as a password', (key: string) => ['/settings', `Authorization: Basic ${btoa(`key:${key}`)}\r\n`]],
  ])('a key %s is none', async (_, asked) => {
    const [path = '', headers = ''] = asked(admin);
    expect(await send(`GET ${path}`, `${host}${headers}`)).toEqual([401]);
  });

  test('a key in what follows the body is none', async () => {
    const headers = `${host}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nTrailer: Authorization\r\n`;
    expect(await send('POST /keys', headers, `0\r\n${bearer(admin)}\r\n`)).toEqual([401]);
  });
});

describe('no other way of writing a path or method goes past the guard', () => {
  test.each([
    ['GET /SETTINGS', 403],
    ['GET /settings/', 403],
    ['HEAD /settings', 403],
    ['GET /settings?x=/healthz', 403],
    ['POST /settings?_method=GET', 405],
    ['TRACE /settings', 405],
    ['OPTIONS /settings', 405],
    ['GET //settings', 404],
    ['GET /healthz/../settings', 404],
    ['GET /docs/..%2fsettings', 404],
    ['GET /docs/..;/settings', 404],
    ['GET /%73ettings', 404],
    ['GET /settings%00', 404],
    ['GET /settings%2f', 404],
    ['GET /\\settings', 404],
    ['GET http://localhost/settings', 404],
    ['GET http://evil.example/settings', 404],
    ['GET http://[/settings', 404],
    ['GET http://x:99999/sandbox/execs', 404],
    ['GET *', 404],
    ['OPTIONS *', 404],
    ['GET /sandbox/execs/%65xport', 400],
    ['GET /sandbox/execs/%ff', 400],
    ['GET /skills/%zz', 400],
  ] as const)('%s', async (line, status) => {
    const override = 'X-HTTP-Method-Override: GET\r\nX-Original-URL: /healthz\r\nX-Rewrite-URL: /healthz\r\n';
    expect(await send(line, `${host}${bearer(worker)}${override}`)).toEqual([status]);
    expect(service.log()).not.toContain('"level":"error"');
  });

  const guarded = (Object.entries(routeAccess) as [string, RouteAccess][])
    .filter(([, access]) => access !== 'open' && !access.roles.includes('approver'))
    .map(([route]) => route.split(' ') as [string, string]);

  test(`each of ${guarded.length} routes, in six spellings, with a key that may not`, async () => {
    for (const [method, template] of guarded) {
      const path = template.replaceAll(/\{\w+\}/g, 'x');
      const spelled = [
        path,
        `${path}/`,
        path.toUpperCase(),
        `/${path}`,
        `/healthz/..${path}`,
        `${path};/healthz`,
      ];
      for (const each of spelled) {
        for (const verb of method === 'GET' ? ['GET', 'HEAD'] : [method]) {
          const [status] = await send(`${verb} ${each}`, `${host}${bearer(approver)}`);
          expect([verb, each, [403, 404].includes(status ?? 0)]).toEqual([verb, each, true]);
        }
      }
      const [plain] = await send(`${method} ${path}`, `${host}${bearer(approver)}`);
      expect([method, path, plain]).toEqual([method, path, 403]);
    }
  });
});
