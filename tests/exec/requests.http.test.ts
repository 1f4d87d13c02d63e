import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { startRunningService, type RunningService } from './running-service.js';

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService({ SECBOX_MAX_BODY_MB: '1' });
});
afterAll(() => service.close());

const post = (body: unknown) =>
  request(service.url)
    .post('/sandbox/execs')
    .send(body as object);
const shell = { kind: 'shell', command: 'bash', args: ['-lc', 'true'] };
const valid = { project_id: 'p', exec: shell };

/** Expects an error of this status and code, and that nothing was made for it. */
async function refused(body: unknown, status: number, code: string): Promise<request.Response> {
  const response = await post(body);
  expect({ status: response.status, code: (response.body as ErrorBody).error.code }).toEqual({
    status,
    code,
  });
  return response;
}

interface ErrorBody {
  readonly error: {
    readonly kind: string;
    readonly code: string;
    readonly message: string;
    readonly details?: unknown;
  };
}

describe('POST /sandbox/execs', () => {
  test('runs a shell exec and answers as documented', async () => {
    const response = await post({
      project_id: 'p',
      exec: { ...shell, args: ['-lc', 'echo out; echo err >&2; exit 3'], env: { GREETING: 'hi' } },
      task_ref: { task_id: 't-1', conversation_id: 'c-1' },
    });
    expect(response.status).toBe(200);
    expect(response.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(response.body).toMatchObject({
      status: 'failed',
      exit_code: 3,
      stdout: 'out\n',
      stderr: 'err\n',
      stdout_truncated: false,
      stderr_truncated: false,
      project_id: 'p',
      task_id: 't-1',
      conversation_id: 'c-1',
      env_keys: ['GREETING'],
      cwd: '/workspace/work',
      artifacts: [],
      error_reason: null,
    });
  });

  test('GET gives the same answer as the POST did', async () => {
    const posted = await post({
      ...valid,
      exec: { kind: 'python', command: 'python', args: ['-c', 'print(6 * 7)'] },
    });
    const { exec_id: id, stdout } = posted.body as { exec_id: string; stdout: string };
    expect(stdout).toBe('42\n');
    const got = await request(service.url).get(`/sandbox/execs/${id}`);
    expect(got.status).toBe(200);
    expect(got.body).toEqual(posted.body);
  });

  test('conversation_id stands in for project_id', async () => {
    const direct = await post({ conversation_id: 'talk', exec: shell });
    const referred = await post({ task_ref: { conversation_id: 'talk' }, exec: shell });
    expect(direct.body).toMatchObject({ project_id: 'talk', conversation_id: 'talk', status: 'succeeded' });
    expect(referred.body).toMatchObject({ project_id: 'talk', conversation_id: 'talk', status: 'succeeded' });
  });
});

describe('a malformed request gets a clear 400', () => {
  test.each<[string, unknown]>([
    ['no exec', { project_id: 'p' }],
    ['no project and no conversation', { exec: shell }],
    ['a null body part', { ...valid, exec: null }],
    ['an unknown key', { ...valid, image: 'evil' }],
    ['an unknown key in exec', { ...valid, exec: { ...shell, user: 'root' } }],
    ['an unknown key in an input', { ...valid, inputs: [{ path: 'a', content: '', mode: 511 }] }],
    ['a wrong type', { ...valid, exec: { ...shell, args: 'true' } }],
    ['another kind', { ...valid, exec: { ...shell, kind: 'argv' } }],
    ['another command', { ...valid, exec: { ...shell, command: '/bin/sh' } }],
    ['a shell without -lc', { ...valid, exec: { ...shell, args: ['-c', 'true'] } }],
    ['a shell without a script', { ...valid, exec: { ...shell, args: ['-lc'] } }],
    ['a python option', { ...valid, exec: { kind: 'python', command: 'python', args: ['-i'] } }],
    [
      'a python script outside',
      { ...valid, exec: { kind: 'python', command: 'python', args: ['/etc/x.py'] } },
    ],
    ['NUL in an argument', { ...valid, exec: { ...shell, args: ['-lc', 'a\0b'] } }],
    ['an argument past the kernel', { ...valid, exec: { ...shell, args: ['-lc', 'é'.repeat(70_000)] } }],
    ['both contents', { ...valid, inputs: [{ path: 'a', content: '', content_base64: '' }] }],
    ['no content', { ...valid, inputs: [{ path: 'a' }] }],
    ['content that is not base64', { ...valid, inputs: [{ path: 'a', content_base64: '***' }] }],
    ['an env value that is no text', { ...valid, exec: { ...shell, env: { A: 1 } } }],
  ])('%s', async (_name, body) => {
    const response = await refused(body, 400, 'invalid_request');
    expect((response.body as ErrorBody).error.message.length).toBeGreaterThan(20);
  });

  test('the same input twice, or one below another', async () => {
    const input = (path: string) => ({ path, content: 'x' });
    await refused({ ...valid, inputs: [input('a'), input('a')] }, 400, 'invalid_path');
    await refused({ ...valid, inputs: [input('a'), input('a/b')] }, 400, 'invalid_path');
  });

  test('names every wrong place with its pointer', async () => {
    const response = await refused(
      { project_id: '..', exec: { ...shell, args: [1] }, x: 1 },
      400,
      'invalid_request',
    );
    expect((response.body as ErrorBody).error.details).toEqual({
      problems: expect.arrayContaining([
        { pointer: '', message: 'must not have the key "x"' },
        { pointer: '/project_id', message: expect.stringContaining('pattern') },
        { pointer: '/exec/args/0', message: 'must be string' },
      ]),
    });
  });
});

describe('HTTP', () => {
  test('malformed JSON and other content types (case 57)', async () => {
    const send = (type: string, body: string) =>
      request(service.url).post('/sandbox/execs').set('content-type', type).send(body);
    expect((await send('application/json', '{"a":')).body).toMatchObject({
      error: { code: 'malformed_json' },
    });
    expect((await send('application/json', '"text"')).status).toBe(400);
    expect((await send('application/json; charset=x-none', '{}')).status).toBe(415);
    const form = await send('application/x-www-form-urlencoded', 'a=1');
    expect(form.status).toBe(415);
    expect(form.body).toMatchObject({ error: { code: 'unsupported_media_type' } });
    expect((await request(service.url).post('/sandbox/execs')).status).toBe(415);
  });

  test('a body past the limit, plain or packed, and deep nesting (case 56)', async () => {
    const big = { ...valid, inputs: [{ path: 'a', content: 'x'.repeat(2 * 1024 ** 2) }] };
    await refused(big, 413, 'body_too_large');
    const { gzipSync } = await import('node:zlib');
    const packed = await request(service.url)
      .post('/sandbox/execs')
      .set('content-type', 'application/json')
      .set('content-encoding', 'gzip')
      .serialize((body: unknown) => body as string)
      .send(gzipSync(JSON.stringify(big)));
    expect(packed.status).toBe(413);
    const deep = `{"project_id":"p","exec":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}`;
    const nested = await request(service.url).post('/sandbox/execs').type('json').send(deep);
    expect(nested.body).toMatchObject({ error: { code: 'invalid_request' } });
  });

  test('unknown ids, routes and methods', async () => {
    const agent = request(service.url);
    const unknown = await agent.get('/sandbox/execs/5f0c6f0e-3b0a-4d3e-9a55-0d6f6f1f2a11');
    expect([unknown.status, (unknown.body as ErrorBody).error.code]).toEqual([404, 'exec_not_found']);
    expect((await agent.get('/sandbox/execs/..%2f..%2fetc')).status).toBe(400);
    expect((await agent.get('/sandbox/execs/%zz')).status).toBe(400);
    expect((await agent.get('/nowhere')).body).toMatchObject({ error: { code: 'route_not_found' } });
    const deleted = await agent.delete('/sandbox/execs');
    expect([deleted.status, deleted.headers['allow']]).toEqual([405, 'GET, HEAD, POST']);
  });

  test.each([['evil.example'], ['evil.example:8003'], ['127.0.0.1.evil.example'], ['']])(
    'Host %j is another site (case 60)',
    async (host) => {
      const response = await request(service.url).get('/settings').set('host', host);
      expect([response.status, (response.body as ErrorBody).error.code]).toEqual([403, 'foreign_host']);
    },
  );

  test('an Origin of another site is refused, our own is not (case 60)', async () => {
    const from = async (origin: string) =>
      (await request(service.url).get('/healthz').set('origin', origin)).status;
    expect(await from('https://evil.example')).toBe(403);
    expect(await from('null')).toBe(403);
    const { port } = new URL(service.url);
    expect(await from(`http://localhost:${Number(port) - 1}`)).toBe(403);
    expect(await from(`http://localhost:${port}`)).toBe(200);
  });

  test('arguments as long as they may be run, and one byte more is refused', async () => {
    const withArguments = (bytes: number) => {
      const script = ['-lc', 'echo ${#*}', '_'];
      const words: string[] = [];
      let left = bytes - `${script.join(' ')} `.length;
      while (left > 0) {
        const word = 'x'.repeat(Math.min(left, 131_071) - 1);
        words.push(word);
        left -= word.length + 1;
      }
      return { ...valid, exec: { ...shell, args: [...script, ...words] } };
    };
    const most = 1_048_576 - 65_536;
    expect((await post(withArguments(most))).body).toMatchObject({ status: 'succeeded' });
    await refused(withArguments(most + 1), 400, 'invalid_request');
  });

  test('a large base64 input is taken, half a character is not, a skill is unknown', async () => {
    const input = { path: 'big', content_base64: Buffer.alloc(700_000, 7).toString('base64') };
    expect((await post({ ...valid, inputs: [input] })).status).toBe(200);
    const half = JSON.stringify({ ...valid, exec: { ...shell, args: ['-lc', 'HALF'] } }).replace(
      'HALF',
      '\\ud800',
    );
    const response = await request(service.url).post('/sandbox/execs').type('json').send(half);
    expect([response.status, (response.body as ErrorBody).error.code]).toEqual([400, 'invalid_request']);
    await refused({ ...valid, skill_id: 'no.such' }, 404, 'skill_not_found');
  });

  test('does not tell what it is made of', async () => {
    const response = await request(service.url).get('/healthz');
    expect(response.headers).not.toHaveProperty('x-powered-by');
    expect(response.body).toEqual({ status: 'ok' });
  });
});

describe('GET /sandbox/health', () => {
  test('tells what an operator needs to know', async () => {
    const response = await request(service.url).get('/sandbox/health');
    expect(response.status).toBe(200);
    expect(response.body).toEqual({
      status: 'ok',
      problems: [],
      warnings: [],
      runtime: { name: expect.any(String), offered: expect.arrayContaining(['runc']) },
      version: 'test',
      runtime_mode: 'linux',
      security: { mode: 'STRICT', subprocess: { available: false, why: 'SECBOX_SUBPROCESS is off' } },
      workspace_root_native: `${service.dataDir}/workspace`,
      workspace_writable: true,
      database_writable: true,
      docker_cli_path: expect.anything(),
      docker_version: expect.stringMatching(/^\d+\./),
      docker_context: 'default',
      docker_host: process.env['DOCKER_HOST'],
      engine_source: 'socket',
      image: { reference: 'secbox/sandbox:latest', id: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) },
      disk: {
        free_bytes: expect.any(Number),
        total_bytes: expect.any(Number),
        min_free_bytes: 1024 ** 3,
        work: {
          kind: expect.stringMatching(/^(hard|soft)$/),
          limit_bytes: 2 * 1024 ** 3,
          why: expect.anything(),
        },
        artifacts: { kind: 'soft', limit_bytes: 100 * 1024 ** 2, why: expect.anything() },
        sandbox: { kind: 'soft', limit_bytes: 2 * 1024 ** 3, why: expect.any(String) },
      },
      layers: { road: 'copy', why: expect.any(String) },
      strays: { containers: 0, rows: 0, spools: 0, mounts: 0, last_sweep_at: null },
      pool: { warm: false, why: expect.any(String) },
      account: { listening: true, started: expect.any(Number), unaccounted_total: 0, unaccounted: [] },
    });
  });
});
