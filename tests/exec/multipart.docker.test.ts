import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ExecAnswer } from '@secbox/contracts';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { putSandboxSettings } from '../disk/put-settings.js';
import { startRunningService, type RunningService } from './running-service.js';

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService({ SECBOX_MAX_UPLOAD_MB: '8', SECBOX_MAX_BODY_MB: '1' });
});
afterAll(() => service.close());

const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');
const shell = (script: string, projectId = 'm') => ({
  project_id: projectId,
  exec: { kind: 'shell', command: 'bash', args: ['-lc', script] },
});

type Part = readonly [name: string, content: string | Buffer];

async function post(request: unknown, parts: readonly Part[], headers: Record<string, string> = {}) {
  const form = new FormData();
  if (request !== undefined) form.set('request', JSON.stringify(request));
  for (const [name, content] of parts) form.append(name, new Blob([content]), 'any name');
  const response = await fetch(`${service.url}/sandbox/execs`, { method: 'POST', body: form, headers });
  return { status: response.status, body: (await response.json()) as ExecAnswer & ErrorBody };
}

interface ErrorBody {
  readonly error?: { readonly code: string; readonly message: string };
}

const meta = async (answer: ExecAnswer) =>
  JSON.parse(await readFile(join(answer.artifacts_dir, 'meta.json'), 'utf8')) as {
    readonly inputs: readonly Record<string, unknown>[];
  };
const spool = () => readdir(join(service.dataDir, 'workspace/spool'));

describe('a request of several parts', () => {
  test('brings its files as inputs, exactly', async () => {
    const large = Buffer.alloc(6 * 1024 ** 2, 'secbox');
    const { status, body } = await post(
      shell('cd /workspace/inputs && sha256sum deep/large.bin | cut -c-64 && cat 数据.txt'),
      [
        ['inputs/deep/large.bin', large],
        ['inputs/数据.txt', 'text\n'],
      ],
    );
    expect([status, body.status, body.stdout]).toEqual([200, 'succeeded', `${sha256(large)}\ntext\n`]);
    expect((await meta(body)).inputs).toEqual([
      { path: 'deep/large.bin', size: large.length, sha256: sha256(large) },
      { path: '数据.txt', size: 5, sha256: sha256('text\n') },
    ]);
    expect(await spool()).toEqual([]);
  });

  test('may have inputs in its JSON too, and secret ones in both', async () => {
    const { body } = await post(
      {
        ...shell('cat /workspace/inputs/*', 'both'),
        inputs: [
          { path: 'a', content: 'a' },
          { path: 'b', content: 'b', secret: true },
        ],
      },
      [
        ['inputs/c', 'c'],
        ['secret-inputs/d', 'd'],
      ],
    );
    expect(body.stdout).toBe('abcd');
    expect((await meta(body)).inputs).toEqual([
      { path: 'a', size: 1, sha256: sha256('a') },
      { path: 'b', secret: true },
      { path: 'c', size: 1, sha256: sha256('c') },
      { path: 'd', secret: true },
    ]);
    // Of what a later exec can see, the secrets are still secrets.
    const later = await service.shell('true', { project_id: 'both' });
    expect((await meta(later)).inputs).toEqual((await meta(body)).inputs);
  });

  test('is the same as the same request in JSON, under one Idempotency-Key', async () => {
    const key = { 'idempotency-key': 'either-way' };
    const first = await post(shell('cat /workspace/inputs/x', 'once'), [['inputs/x', 'content']], key);
    const again = await post(shell('cat /workspace/inputs/x', 'once'), [['inputs/x', 'content']], key);
    const inJson = await fetch(`${service.url}/sandbox/execs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...key },
      body: JSON.stringify({
        ...shell('cat /workspace/inputs/x', 'once'),
        inputs: [{ path: 'x', content: 'content' }],
      }),
    });
    const other = await post(shell('cat /workspace/inputs/x', 'once'), [['inputs/x', 'other']], key);
    // However they arrive: small ones are received side by side.
    const many = Array.from({ length: 20 }, (_, n): Part => [`inputs/many/${n}`, String(n)]);
    const manyKey = { 'idempotency-key': 'many' };
    const manyFirst = await post(shell('true', 'once'), many, manyKey);
    const manyAgain = await post(shell('true', 'once'), [...many].reverse(), manyKey);
    expect(manyAgain.body.exec_id).toBe(manyFirst.body.exec_id);
    expect(again.body.exec_id).toBe(first.body.exec_id);
    expect(((await inJson.json()) as ExecAnswer).exec_id).toBe(first.body.exec_id);
    expect([other.status, other.body.error?.code]).toEqual([422, 'idempotency_key_reused']);
    expect(await spool()).toEqual([]);
  });

  test('is its exec when it is repeated, also when the disk has no room by then', async () => {
    const key = { 'idempotency-key': 'full' };
    const send = (content: string, headers = key) =>
      post(shell('cat /workspace/inputs/x', 'full'), [['inputs/x', content]], headers);
    const first = await send('content');
    await putSandboxSettings(service.url, { min_free_mb: 1_048_576 });
    try {
      expect((await send('other', { 'idempotency-key': 'new' })).body.error?.code).toBe('disk_full');
      expect((await send('other')).body.error?.code).toBe('idempotency_key_reused');
      expect((await send('content')).body.exec_id).toBe(first.body.exec_id);
      expect(await spool()).toEqual([]);
    } finally {
      await putSandboxSettings(service.url, {});
    }
  });

  test.each<[string, unknown, readonly Part[], number, string]>([
    ['no JSON part', undefined, [['inputs/a', 'a']], 400, 'invalid_request'],
    ['a part of an unknown name', shell('true'), [['input/a', 'a']], 400, 'invalid_request'],
    ['a path that leaves the folder', shell('true'), [['inputs/../a', 'a']], 400, 'invalid_path'],
    ['an absolute path', shell('true'), [['inputs//etc/passwd', 'a']], 400, 'invalid_path'],
    ['an encoded path', shell('true'), [['inputs/%2e%2e%2fa', 'a']], 400, 'invalid_path'],
    ['an empty path', shell('true'), [['inputs/', 'a']], 400, 'invalid_path'],
    [
      'one path twice',
      shell('true'),
      [
        ['inputs/a', 'a'],
        ['inputs/a', 'b'],
      ],
      400,
      'invalid_path',
    ],
    ['a wrong body', { exec: 1 }, [['inputs/a', 'a']], 400, 'invalid_request'],
    ['a hostile body', { ...shell('true'), constructor: {} }, [], 400, 'invalid_request'],
    ['more than allowed', shell('true'), [['inputs/a', Buffer.alloc(9 * 1024 ** 2)]], 413, 'body_too_large'],
    [
      'secrets larger than a body may be',
      shell('true'),
      [['secret-inputs/a', Buffer.alloc(1024 ** 2 + 1)]],
      413,
      'body_too_large',
    ],
    [
      'a limit past its ceiling',
      { ...shell('true'), policy_overrides: { pids: 99_999 } },
      [['inputs/a', 'a']],
      403,
      'policy_exceeded',
    ],
  ])('with %s is refused, and nothing of it stays', async (_what, request, parts, status, code) => {
    const answer = await post(request, parts);
    expect([answer.status, answer.body.error?.code]).toEqual([status, code]);
    expect(await spool()).toEqual([]);
  });

  const raw = (body: string, boundary = 'b') =>
    fetch(`${service.url}/sandbox/execs`, {
      method: 'POST',
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
      body,
    });
  const head = (disposition: string) => `--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`;

  test.each([
    ['no parts', ''],
    ['an end that is missing', `${head('name="inputs/a"; filename="a"')}content`],
    ['JSON that is none', `${head('name="request"')}{\r\n--b--\r\n`],
    ['a second field', `${head('name="request"')}{}\r\n${head('name="other"')}x\r\n--b--\r\n`],
    [
      'an input without a file name',
      `${head('name="request"')}{}\r\n${head('name="inputs/a"')}x\r\n--b--\r\n`,
    ],
    [
      'an input with an empty file name',
      `${head('name="request"')}${JSON.stringify(shell('true'))}\r\n--b\r\nContent-Disposition: form-data; name="inputs/a"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\nx\r\n--b--\r\n`,
    ],
    ['a part without a name', `--b\r\nContent-Disposition: form-data; filename="a"\r\n\r\nx\r\n--b--\r\n`],
    ['fields that make an object', `${head('name="request[__proto__][x]"')}1\r\n--b--\r\n`],
    [
      'a name longer than any path',
      `${head(`name="inputs/${'a/'.repeat(4000)}a"; filename="a"`)}x\r\n--b--\r\n`,
    ],
  ])('made by hand, with %s, is refused and nothing of it stays', async (_what, body) => {
    const response = await raw(body);
    const { error } = (await response.json()) as ErrorBody;
    expect([response.status, error?.code]).toEqual([
      400,
      expect.stringMatching(/^(invalid_request|malformed_json|invalid_path)$/),
    ]);
    expect(await spool()).toEqual([]);
  });

  test('whose sender leaves in the middle leaves nothing', async () => {
    const { port } = new URL(service.url);
    const sending = httpRequest({
      host: '127.0.0.1',
      port,
      method: 'POST',
      path: '/sandbox/execs',
      headers: { 'content-type': 'multipart/form-data; boundary=b', 'transfer-encoding': 'chunked' },
    });
    sending.on('error', () => undefined);
    sending.write(`${head('name="inputs/a"; filename="a"')}${'x'.repeat(100_000)}`);
    const waits = async (wanted: number) => {
      while ((await spool()).length !== wanted) await new Promise((resolve) => setTimeout(resolve, 10));
    };
    await waits(1);
    sending.destroy();
    await waits(0);
    expect((await post(shell('echo on'), [])).body.stdout).toBe('on\n');
  });
});
