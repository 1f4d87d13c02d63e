import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecAnswer } from '@secbox/contracts';
import { containersGone, inspectContainer, runningContainer } from '../exec/engine-view.js';
import { startRunningService, type RunningService } from '../exec/running-service.js';

let service: RunningService;
beforeEach(async () => {
  service = await startRunningService();
});
afterEach(() => service.close());

const shell = (script: string, more: Record<string, unknown> = {}) => ({
  project_id: 'p',
  exec: { kind: 'shell', command: 'bash', args: ['-lc', script], ...more },
});

async function post(
  body: unknown,
  key?: string,
): Promise<{ status: number; body: ExecAnswer; text: string }> {
  const response = await fetch(`${service.url}/sandbox/execs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { 'idempotency-key': key }) },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: JSON.parse(text) as ExecAnswer, text };
}

test('case 66: fifty equal submissions with one idempotency key are one container and one answer; another body is a 422', async () => {
  const body = shell('echo ran >> runs; cat runs');
  const answers = await Promise.all(Array.from({ length: 50 }, () => post(body, 'k')));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  for (const answer of answers) expect(answer.body).toEqual(answers[0]?.body);
  expect(answers[0]?.body).toMatchObject({ stdout: 'ran\n', idempotency_key: 'k' });
  expect(await readdir(join(service.dataDir, 'workspace/projects/p/artifacts'))).toHaveLength(1);

  const others = [
    shell('true'),
    { ...body, project_id: 'q' },
    { ...body, policy_overrides: { pids: 9 } },
    { ...body, inputs: [{ path: 'a', content: '' }] },
    shell('echo ran >> runs; cat runs', { env: { A: '' } }),
    shell('echo ran >> runs; cat runs', { stdin: 'x' }),
  ];
  for (const other of others) {
    expect(await post(other, 'k')).toMatchObject({
      status: 422,
      body: { error: { code: 'idempotency_key_reused' } },
    });
  }
  const reordered = JSON.stringify({
    exec: { args: body.exec.args, command: 'bash', kind: 'shell' },
    project_id: 'p',
  });
  expect((await post(reordered, 'k')).body).toEqual(answers[0]?.body);
  expect((await service.shell('wc -l < runs')).stdout).toBe('1\n');
});

const secrets = { env: 'canary-env-7c41f0', stdin: 'canary-stdin-b81d22', input: 'canary-input-90aa4e' };

/** Each secret as it might be written somewhere: plain, encoded, or as a hash that can be guessed at. */
const traces = Object.values(secrets).flatMap((secret) => [
  secret,
  Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  Buffer.from(secret).toString('hex'),
  encodeURIComponent(secret),
  ...['sha256', 'sha1', 'md5'].map((hash) => createHash(hash).update(secret).digest('hex')),
]);
const tracesIn = (text: string) => traces.filter((trace) => text.includes(trace));

const secretRequest = (script: string, more: Record<string, unknown> = {}) => ({
  project_id: 'secret',
  exec: {
    kind: 'shell',
    command: 'bash',
    args: ['-lc', script],
    env: { KEY: secrets.env, ...(more['env'] as object | undefined) },
    stdin: secrets.stdin,
  },
  inputs: [{ path: 'key', content: secrets.input, secret: true }],
});

/** Every file of the data folder but the input itself, which the program must be able to read. */
async function filesWithTraces(): Promise<string[]> {
  const found: string[] = [];
  const names = await readdir(service.dataDir, { recursive: true, withFileTypes: true });
  for (const entry of names.filter((each) => each.isFile())) {
    const path = join(entry.parentPath, entry.name);
    // Of nobody yet, and made at any moment.
    if (entry.parentPath.endsWith('/spare-disk')) continue;
    // What the program writes into its own work folder is its own affair.
    if (path.endsWith('/secret/inputs/key') || entry.name === 'disk.img') continue;
    if (tracesIn(await readFile(path, 'latin1')).length > 0) found.push(path);
  }
  return found;
}

test('case 67: secrets in env, stdin and a marked input are in no database, log, document, error or engine config', async () => {
  const seen: string[] = [];
  await containersGone(service.dataDir);
  // While it runs: what the engine knows of it, and what lies on disk.
  const running = post(
    secretRequest(
      'read -r given; while [ ! -e go ]; do sleep 0.02; done; [ "$KEY$given$(cat /workspace/inputs/key)" ]',
    ),
    'secret',
  );
  const container = await runningContainer(service.dataDir);
  const config = JSON.stringify(await inspectContainer(container.Id));
  expect(config).toContain('/sbin/secbox-init');
  expect(config).not.toContain('while [');
  seen.push(config, ...(await filesWithTraces()));
  await service.shell('touch go', { project_id: 'secret' });
  const done = await running;
  expect(done.body).toMatchObject({ status: 'succeeded', env_keys: ['KEY'] });
  const meta = JSON.parse(await readFile(join(done.body.artifacts_dir, 'meta.json'), 'utf8')) as object;
  expect(meta).toMatchObject({ env_keys: ['KEY'], inputs: [{ path: 'key', secret: true }] });

  // Every other ending: it fails, runs out of time, asks for too much, or is malformed just beside the secret.
  const endings: unknown[] = [
    secretRequest('exit 3'),
    { ...secretRequest('sleep 60'), policy_overrides: { timeout_ms: 300 } },
    { ...secretRequest('true'), policy_overrides: { memory_mb: 99_999 } },
    { ...secretRequest('true'), policy_overrides: { pids: 'x' } },
    secretRequest('true', { env: { LD_PRELOAD: secrets.env } }),
    secretRequest('true', { env: { KEY: `${secrets.env}\0` } }),
    secretRequest('true', { env: { 'B=': secrets.env } }),
    { ...secretRequest('true'), inputs: [{ path: '../x', content: secrets.input, secret: true }] },
    { ...secretRequest('true'), inputs: [{ path: 'x', content_base64: `${secrets.input}*`, secret: true }] },
    { ...secretRequest('true'), inputs: [{ path: 'key/below', content: secrets.input, secret: true }] },
    { ...secretRequest('true'), unknown: secrets.stdin },
    `${JSON.stringify(secretRequest('true'))}${secrets.stdin}`,
    `{"exec":"${secrets.env}`,
  ];
  for (const ending of endings) seen.push((await post(ending)).text);
  seen.push((await post(secretRequest('another'), 'secret')).text, done.text);
  const events = await fetch(`${service.url}/sandbox/execs/${done.body.exec_id}/events`);
  seen.push(await events.text(), service.log());
  expect(seen.flatMap(tracesIn)).toEqual([]);
  expect(service.log().length).toBeGreaterThan(1000);

  // After the end too, when the database has been written out.
  expect(await filesWithTraces()).toEqual([]);
  await service.stop();
  expect(await filesWithTraces()).toEqual([]);
  service = await startRunningService({}, service.dataDir);
  await containersGone(service.dataDir);
});

test('case 68: newlines and ANSI escapes in a command or a URL are still one log line each', async () => {
  const before = service.log().length;
  const forged = '{"time":"now","level":"error","event":"forged"}';
  const script = `true\n${forged}\r\n\u001b[2J\u001b]0;title\u0007\u2028${forged}`;
  const answer = await post({ ...shell(script), task_ref: { task_id: `t\n${forged}\u001b[31m` } });
  expect(answer.body.args[1]).toBe(script);
  await post(shell('exit 3', { env: { ['A\n']: '\u001b' } }));
  await post(`{"\n${forged}`);
  await fetch(`${service.url}/%0a${encodeURIComponent(forged)}%1b[2J`);
  const lines = service.log().slice(before).split('\n').filter(Boolean);
  expect(lines.length).toBeGreaterThan(4);
  for (const line of lines) {
    expect((JSON.parse(line) as { event: string }).event).not.toBe('forged');
    // eslint-disable-next-line no-control-regex -- these are what must not be there
    expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028]/);
  }
});
