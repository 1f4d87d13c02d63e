import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecAnswer } from '@secbox/contracts';
import { containersGone, containersOf } from './engine-view.js';
import { fileAppears } from './file-appears.js';
import { startRunningService, type RunningService } from './running-service.js';

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService({ SECBOX_MAX_CONCURRENT_EXECS: '1', SECBOX_MAX_QUEUED_EXECS: '2' });
});
afterAll(() => service.close());

interface Posted {
  readonly status: number;
  readonly headers: Headers;
  readonly body: ExecAnswer;
}

async function call(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Posted> {
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as ExecAnswer };
}

const shell = (script: string, projectId = 'p') => ({
  project_id: projectId,
  exec: { kind: 'shell', command: 'bash', args: ['-lc', script] },
});
const post = (script: string, headers: Record<string, string> = {}, projectId = 'p') =>
  call('POST', '/sandbox/execs', shell(script, projectId), headers);
const cancel = (execId: string) => call('POST', `/sandbox/execs/${execId}/cancel`);
const async_ = { prefer: 'respond-async' };

const begun = (file: string, projectId = 'p') =>
  fileAppears(join(service.dataDir, 'workspace/projects', projectId, 'work', file));

async function finished(execId: string): Promise<ExecAnswer> {
  for (;;) {
    const { body } = await call('GET', `/sandbox/execs/${execId}`);
    if (body.ended_at !== null) return body;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('an answer', () => {
  test('comes at once when asked for, with where to look', async () => {
    const { status, headers, body } = await post('echo later', async_);
    expect([status, headers.get('location')]).toEqual([202, `/sandbox/execs/${body.exec_id}`]);
    expect(['queued', 'running']).toContain(body.status);
    expect(await finished(body.exec_id)).toMatchObject({ status: 'succeeded', stdout: 'later\n' });
  });

  test.each([
    ['that printed little', 'echo out; echo err >&2; echo x > /workspace/artifacts/x.txt'],
    ['that failed', 'echo "no" >&2; exit 3'],
    [
      'that printed more than an answer has',
      'head -c 200000 /dev/zero | tr "\\0" "é"; printf "\\xff\\xfe" >&2',
    ],
    ['whose answer ends within a character', 'printf x; for i in $(seq 40000); do printf "é"; done'],
    [
      'that left more than an answer lists',
      'cd /workspace/artifacts; touch f{1..150}; ln -s f1 link; mkfifo pipe; echo planted > stdout.txt',
    ],
    ['that left as much as an answer lists', 'cd /workspace/artifacts; touch f{1..100}; ln -s f1 link'],
  ])('of an exec %s is what is told to whoever asks later', async (_name, script) => {
    const { status, body } = await post(script);
    expect(status).toBe(200);
    expect((await call('GET', `/sandbox/execs/${body.exec_id}`)).body).toEqual(body);
  });

  test('waits as long as asked for, and no longer', async () => {
    const short = await post('while [ ! -e go-on ]; do sleep 0.05; done', { prefer: 'wait=1' });
    expect(short).toMatchObject({ status: 202, body: { status: 'running' } });
    await cancel(short.body.exec_id);
    const long = await post('echo quick', { prefer: 'wait=100' });
    expect(long).toMatchObject({ status: 200, body: { status: 'succeeded', stdout: 'quick\n' } });
  });

  test('a client that leaves does not end its exec', async () => {
    const leaving = new AbortController();
    const left = fetch(`${service.url}/sandbox/execs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(shell('touch left; while [ ! -e come ]; do sleep 0.05; done; echo went on')),
      signal: leaving.signal,
    });
    await begun('left');
    leaving.abort();
    await expect(left).rejects.toThrow();
    const [container] = await containersOf(service.dataDir);
    const execId = container?.Labels['secbox.exec_id'] ?? '';
    // There is one place only, so the word to go on comes from outside.
    await writeFile(join(service.dataDir, 'workspace/projects/p/work/come'), '');
    expect(await finished(execId)).toMatchObject({ status: 'succeeded', stdout: 'went on\n' });
  });
});

describe('cancel', () => {
  test('ends a running exec, with what it had printed', async () => {
    const { body } = await post('echo so far; touch running; sleep 250', async_, 'c1');
    await begun('running', 'c1');
    const cancelled = await cancel(body.exec_id);
    expect(cancelled).toMatchObject({
      status: 200,
      body: {
        status: 'cancelled',
        stdout: 'so far\n',
        signal: 'SIGKILL',
        error_reason: 'cancelled by a caller',
      },
    });
    await containersGone(service.dataDir);
  });

  test('takes a waiting exec out of the queue: it never runs', async () => {
    const first = await post('touch first; sleep 250', async_, 'c2');
    await begun('first', 'c2');
    const second = await post('touch second', async_, 'c2');
    expect(await cancel(second.body.exec_id)).toMatchObject({
      body: { status: 'cancelled', started_at: null, exit_code: null },
    });
    await cancel(first.body.exec_id);
    expect((await post('ls', {}, 'c2')).body.stdout).toBe('first\n');
  });

  test('of one that is over changes nothing, twice or at once', async () => {
    const { body } = await post('echo done');
    const answers = await Promise.all([cancel(body.exec_id), cancel(body.exec_id), cancel(body.exec_id)]);
    for (const answer of answers) expect(answer.body).toEqual(body);
  });

  test('of an unknown one is a 404', async () => {
    expect((await cancel('5f0c6f0e-3b0a-4d3e-9a55-0d6f6f1f2a11')).status).toBe(404);
  });
});

test('execs that wait to change an input keep no place from other projects', async () => {
  const input = (content: string) => ({ inputs: [{ path: 'f', content }] });
  const submit = (script: string, projectId: string, more = {}) =>
    call('POST', '/sandbox/execs', { ...shell(script, projectId), ...more }, async_);
  // There is one place; the second of project A waits for the first, and then project B's turn comes.
  const first = await submit('touch first; while [ ! -e go ]; do sleep 0.02; done', 'A', input('0'));
  await begun('first', 'A');
  const changing = await submit('echo changed', 'A', input('1'));
  const other = await submit('echo other', 'B');
  await writeFile(join(service.dataDir, 'workspace/projects/A/work/go'), '');
  expect((await finished(other.body.exec_id)).stdout).toBe('other\n');
  expect((await finished(changing.body.exec_id)).stdout).toBe('changed\n');
  expect((await finished(first.body.exec_id)).status).toBe('succeeded');
});

test('a full queue answers 429 with Retry-After, and leaves no row behind (case 59)', async () => {
  const running = await post('touch full; sleep 250', async_, 'q');
  await begun('full', 'q');
  const waiting = [await post('true', async_, 'q'), await post('true', async_, 'q')];
  const refused = await post('true', async_, 'q');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
  expect(refused.body).toMatchObject({ error: { code: 'queue_full' } });
  await cancel(running.body.exec_id);
  for (const { body } of waiting) expect((await finished(body.exec_id)).status).toBe('succeeded');
});
