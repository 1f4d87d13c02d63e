import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import type { ClientRequest } from 'node:http';
import type { ExecAnswer, QuotaSettings } from '@secbox/contracts';
import { startKeyedService, type KeyedService } from '../access/keyed-service.js';
import { rawRequest, type RawAnswer } from '../access/raw-request.js';

const mebibyte = 1024 ** 2;
const bodyTimeoutMs = 1500;

let service: KeyedService;
let admin: string;
let worker: string;
beforeAll(async () => {
  service = await startKeyedService({
    SECBOX_BODY_TIMEOUT_MS: String(bodyTimeoutMs),
    SECBOX_MAX_CONCURRENT_EXECS: '2',
    SECBOX_MAX_QUEUED_EXECS: '3',
  });
  admin = (await service.makeKey('default', ['admin'])).key;
  worker = (await service.makeKey('default', ['worker', 'auditor'])).key;
});
afterAll(() => service.close());

const shell = (script: string) => ({ kind: 'shell', command: 'bash', args: ['-lc', script] });
const codeOf = ({ text }: { readonly text: string }) =>
  (JSON.parse(text) as { error?: { code: string } }).error?.code;
const json = { 'content-type': 'application/json' };

/** To a route that takes JSON, with a key that may. */
function post(
  send: (stream: ClientRequest) => Promise<void> | void,
  headers: Readonly<Record<string, string>> = json,
): Promise<RawAnswer> {
  const authorization = `Bearer ${worker}`;
  return rawRequest(`${service.url}/sandbox/execs`, {
    method: 'POST',
    headers: { authorization, ...headers },
    send,
  });
}

async function write(stream: ClientRequest, chunk: Buffer): Promise<void> {
  if (!stream.write(chunk)) await once(stream, 'drain');
}

/** So many megabytes of spaces, which JSON may begin with, in a few kilobytes. */
async function packedSpaces(megabytes: number): Promise<Buffer> {
  const gzip = createGzip({ level: 9 });
  const chunks: Buffer[] = [];
  gzip.on('data', (chunk: Buffer) => chunks.push(chunk));
  const spaces = Buffer.alloc(mebibyte, 0x20);
  for (let n = 0; n < megabytes; n += 1) if (!gzip.write(spaces)) await once(gzip, 'drain');
  gzip.end();
  await once(gzip, 'end');
  return Buffer.concat(chunks);
}

test('case 56: bodies that are huge, slow, deeply nested or packed bombs are a 413, 408 or 400, and memory stays flat', async () => {
  const before = process.memoryUsage.rss();
  let answered = false;
  const huge = await post(async (stream) => {
    stream.once('response', () => (answered = true));
    const chunk = Buffer.alloc(mebibyte, 0x20);
    for (let n = 0; n < 200 && !answered && !stream.destroyed; n += 1) {
      await Promise.race([write(stream, chunk), once(stream, 'close')]);
    }
    stream.end();
  });
  expect([huge.status, codeOf(huge)]).toEqual([413, 'body_too_large']);

  const bomb = await packedSpaces(200);
  expect(bomb.length).toBeLessThan(mebibyte);
  const unpacked = await post((stream) => void stream.end(bomb), { ...json, 'content-encoding': 'gzip' });
  expect([unpacked.status, codeOf(unpacked)]).toEqual([413, 'body_too_large']);

  // The largest body that is read has 16 MB.
  expect(process.memoryUsage.rss() - before).toBeLessThan(100 * mebibyte);

  const deep = Buffer.from(`{"exec":${'['.repeat(90_000)}${']'.repeat(90_000)}}`);
  const nested = await post((stream) => void stream.end(deep));
  expect([nested.status, codeOf(nested)]).toEqual([400, 'invalid_request']);

  const begun = performance.now();
  const slow = await post(async (stream) => {
    // A byte now and then is no progress towards a body of JSON.
    stream.write('{"exec":');
    for (let n = 0; n < 100 && !stream.destroyed; n += 1) {
      stream.write(' ');
      await sleep(50);
    }
  });
  expect([slow.status, codeOf(slow)]).toEqual([408, 'request_timeout']);
  expect(slow.headers.connection).toBe('close');
  expect(performance.now() - begun).toBeLessThan(bodyTimeoutMs + 4000);

  // Whoever was told no cannot keep the connection with a body that nobody waits for.
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  socket.write(
    'POST /sandbox/execs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{',
  );
  const [first] = (await once(socket, 'data')) as [Buffer];
  expect(first.toString()).toMatch(/^HTTP\/1\.1 401 /);
  await closed;
});

test('case 56: a body of millions of values is a 413 before anyone looks at them, and memory stays flat', async () => {
  const exec = JSON.stringify(shell('true'));
  const before = process.memoryUsage.rss();
  for (const [list, value] of [
    ['inputs', '{}'],
    ['task_ref', '0'],
    ['policy_overrides', '""'],
  ] as const) {
    const body = Buffer.from(`{"exec":${exec},"${list}":[${`${value},`.repeat(4_000_000)}${value}]}`);
    const answer = await post((stream) => void stream.end(body));
    expect([list, answer.status, codeOf(answer)]).toEqual([list, 413, 'body_too_large']);
  }
  // Three bodies of this process's own are among it; as values they were gigabytes.
  expect(process.memoryUsage.rss() - before).toBeLessThan(250 * mebibyte);
  const boundary = 'b0undary';
  const part = `--${boundary}\r\ncontent-disposition: form-data; name="request"\r\n\r\n[${'{},'.repeat(100_000)}{}]`;
  const multipart = await post((stream) => void stream.end(`${part}\r\n--${boundary}--\r\n`), {
    'content-type': `multipart/form-data; boundary=${boundary}`,
  });
  expect([multipart.status, codeOf(multipart)]).toEqual([413, 'body_too_large']);
});

test('case 56: an upload may take as long as it goes on, and is ended when it stands still', async () => {
  const boundary = 'b0undary';
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
  const part = (name: string, more = '') =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n`;
  const begin = (stream: ClientRequest, script: string) => {
    const request = { project_id: 'upload', exec: { ...shell(script), cwd: '/workspace/inputs' } };
    stream.write(`${part('request')}${JSON.stringify(request)}\r\n`);
    stream.write(part('inputs/big', '; filename="big"'));
  };
  const pieces = 20;
  const slowly = await post(async (stream) => {
    begin(stream, 'wc -c < big');
    for (let n = 0; n < pieces; n += 1) {
      stream.write(Buffer.alloc(64 * 1024, 0x61));
      await sleep((bodyTimeoutMs * 4) / pieces);
    }
    stream.end(`\r\n--${boundary}--\r\n`);
  }, headers);
  expect([slowly.status, (JSON.parse(slowly.text) as ExecAnswer).stdout]).toEqual([
    200,
    `${pieces * 64 * 1024}\n`,
  ]);
  const still = await post((stream) => begin(stream, 'true'), headers);
  expect([still.status, codeOf(still)]).toEqual([408, 'request_timeout']);
});

test('case 57: malformed JSON is a 400, another content type a 415, wherever JSON is meant', async () => {
  const calls = [
    ['POST', '/sandbox/execs', worker],
    ['PUT', '/settings', admin],
    ['POST', '/keys', admin],
  ] as const;
  for (const [method, path, key] of calls) {
    const send = async (body: string, type: string | undefined) => {
      const headers = {
        authorization: `Bearer ${key}`,
        ...(type === undefined ? {} : { 'content-type': type }),
      };
      const send = (stream: ClientRequest) => void stream.end(body);
      const answer = await rawRequest(`${service.url}${path}`, { method, headers, send });
      return [path, answer.status, codeOf(answer)];
    };
    for (const text of ['{"exec":', '{]', 'null', '"text"', "{'a': 1}", '\u0000']) {
      expect((await send(text, 'application/json')).slice(0, 2)).toEqual([path, 400]);
    }
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', undefined]) {
      expect(await send('{}', type)).toEqual([path, 415, 'unsupported_media_type']);
    }
    expect(await send('{}', 'application/json; charset=utf-7')).toEqual([
      path,
      415,
      'unsupported_media_type',
    ]);
  }
});

test('case 58: SQL in any filter, sort or cursor is a literal or a 400', async () => {
  await service.run(worker, 'p', 'true', { task_ref: { task_id: 't' } });
  const hostile = [
    "' OR 1=1 --",
    "x'; DROP TABLE sandbox_execs; --",
    '" OR ""="',
    '1) OR (1=1',
    '%',
    "\\' OR 1=1 /*",
  ];
  const literal = ['task_id', 'conversation_id', 'project_id', 'skill_id', 'actor', 'q'];
  const refused = [
    ['/sandbox/execs', ['status', 'sort', 'cursor', 'limit', 'since', 'until', 'order by']],
    ['/projects', ['cursor', 'limit']],
    ['/keys', ['tenant', 'cursor', 'limit']],
    ['/audit/events', ['type', 'scope', 'cursor', 'limit']],
    ['/settings/history', ['limit', 'before']],
  ] as const;
  for (const text of hostile) {
    for (const field of literal) {
      const answer = await service.call(
        `/sandbox/execs?${new URLSearchParams({ [field]: text }).toString()}`,
        {
          key: worker,
        },
      );
      // Too short to be looked for.
      if (field === 'q' && text.length < 3) expect(answer.status).toBe(400);
      else expect([field, text, answer.status, answer.body['execs']]).toEqual([field, text, 200, []]);
    }
    for (const [path, fields] of refused) {
      for (const field of fields) {
        const query = new URLSearchParams({ [field]: text }).toString();
        const key = path === '/sandbox/execs' ? worker : admin;
        const answer = await service.call(`${path}?${query}`, { key });
        expect([path, field, text, answer.status]).toEqual([path, field, text, 400]);
      }
    }
  }
  const { body } = await service.call('/sandbox/execs?task_id=t', { key: worker });
  expect((body['execs'] as unknown[]).length).toBe(1);
});

async function putQuotas(quotas: QuotaSettings): Promise<void> {
  const current = await service.call('/settings', { key: admin });
  const headers = { 'if-match': current.headers.get('etag') ?? '' };
  const put = await service.call('/settings', { key: admin, method: 'PUT', body: { quotas }, headers });
  expect([put.status, put.text]).toEqual([200, expect.any(String)]);
}

test('case 59: a burst over the rate is a 429 with Retry-After, for that key alone', async () => {
  await putQuotas({ tenants: { rated: { requests_per_minute: 10 } } });
  const burst = (await service.makeKey('rated', ['worker'])).key;
  const other = (await service.makeKey('rated', ['worker'])).key;
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => service.call('/projects', { key: burst })),
  );
  const refused = answers.filter(({ status }) => status === 429);
  expect(answers.filter(({ status }) => status === 200).length + refused.length).toBe(30);
  // One comes back every six seconds.
  expect(refused.length).toBeGreaterThanOrEqual(15);
  for (const { body, headers } of refused) {
    expect(body.error?.code).toBe('too_many_requests');
    expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(6);
    expect(headers.get('ratelimit-remaining')).toBe('0');
  }
  const fine = await service.call('/projects', { key: other });
  expect(fine.status).toBe(200);
  expect(Object.fromEntries(fine.headers)).toMatchObject({
    'ratelimit-limit': '10',
    'ratelimit-policy': '10;w=60',
    'ratelimit-remaining': '9',
    'ratelimit-reset': '6',
  });
  // Who is refused a key is not counted against anyone.
  expect((await service.call('/projects')).headers.get('ratelimit-limit')).toBeNull();
});

test('case 59: a full queue, of all or of a tenant, is a 429; the quota of one leaves room for another', async () => {
  await putQuotas({ tenants: { greedy: { max_concurrent_execs: 1, max_queued_execs: 1 } } });
  const greedy = (await service.makeKey('greedy', ['worker'])).key;
  const held = 'while [ ! -e go ]; do sleep 0.02; done';
  const submit = (key: string, project: string) =>
    service.call('/sandbox/execs', {
      key,
      body: { project_id: project, exec: shell(held) },
      headers: { prefer: 'respond-async' },
    });
  const taken = [await submit(greedy, 'g'), await submit(greedy, 'g')];
  expect(taken.map(({ status }) => status)).toEqual([202, 202]);
  const full = await submit(greedy, 'g');
  expect([full.status, full.body.error?.code, full.headers.get('retry-after')]).toEqual([
    429,
    'queue_full',
    '5',
  ]);
  expect(full.text).toContain('of the tenant');

  // There are two places, and the other tenant gets one while the greedy one waits.
  const { status } = await service.run(worker, 'quick', 'true');
  expect(status).toBe('succeeded');
  const more = [];
  for (let n = 0; n < 5; n += 1) more.push(await submit(worker, 'w'));
  const codes = more.map(({ status: code }) => code);
  expect(codes).toEqual([202, 202, 202, 429, 429]);
  expect(more.at(-1)?.headers.get('retry-after')).toBe('5');
  const cancel = [
    ...taken.map((answer) => ({ answer, key: greedy })),
    ...more.map((answer) => ({ answer, key: worker })),
  ];
  for (const { answer, key } of cancel) {
    const id = answer.body['exec_id'];
    if (typeof id === 'string') await service.call(`/sandbox/execs/${id}/cancel`, { key, method: 'POST' });
  }
});

test('case 60: a Host or Origin of another site is a 403, also with a key, on every kind of call', async () => {
  const { exec_id: execId } = await service.run(worker, 'p', 'true');
  const authorization = `Bearer ${worker}`;
  const foreign = [
    { host: 'evil.example' },
    { host: `evil.example:${new URL(service.url).port}` },
    { host: '127.0.0.1.evil.example' },
    { host: '192.0.2.1' },
    { host: 'evil.example@localhost' },
    { host: 'localhost#evil.example' },
    { host: 'localhost/evil.example' },
    { host: 'localhost', origin: 'http://evil.example' },
    { host: 'localhost', origin: 'null' },
    { host: 'localhost', origin: 'http://localhost.evil.example' },
    { host: 'localhost', origin: 'http://localhost:3000' },
  ];
  const upgrade = { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
  for (const headers of foreign) {
    const answers = [
      await rawRequest(`${service.url}/sandbox/execs`, { headers: { authorization, ...headers } }),
      await rawRequest(`${service.url}/sandbox/execs/${execId}/events`, {
        headers: { authorization, accept: 'text/event-stream', ...headers },
      }),
      await post((stream) => void stream.end('{}'), { ...json, ...headers }),
      await rawRequest(`${service.url}/healthz`, { headers }),
      await rawRequest(`${service.url}/mcp`, { headers: { authorization, ...headers } }),
      await rawRequest(`${service.url}/`, { headers: { authorization, ...upgrade, ...headers } }),
    ];
    for (const answer of answers) expect([answer.status, codeOf(answer)]).toEqual([403, 'foreign_host']);
  }
  for (const headers of [{ host: 'localhost:1' }, { host: '[::1]:1', origin: 'http://localhost:1' }]) {
    const answer = await rawRequest(`${service.url}/healthz`, { headers });
    expect(answer.status).toBe(200);
  }
});
