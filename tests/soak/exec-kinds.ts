import { expect } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecAnswer } from '@secbox/contracts';
import type { ExecClient, SentEvent } from './exec-client.js';
import type { SeededRandom } from './seeded-random.js';

export interface Attempt {
  readonly client: ExecClient;
  readonly random: SeededRandom;
  /** Unlike that of any other attempt of this run. */
  readonly name: string;
  readonly project: string;
}

/** Runs one exec, or a few that belong together, and throws when any answer is not what it must be. */
export type ExecKind = (attempt: Attempt) => Promise<void>;

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex');
const shell = ({ project }: Attempt, script: string, more: object = {}, exec: object = {}) => ({
  project_id: project,
  exec: { kind: 'shell', command: 'bash', args: ['-lc', script], ...exec },
  ...more,
});
const python = ({ project }: Attempt, code: string, more: object = {}) => ({
  project_id: project,
  exec: { kind: 'python', command: 'python', args: ['-c', code] },
  ...more,
});

async function run(attempt: Attempt, body: unknown, expected: Partial<ExecAnswer>): Promise<ExecAnswer> {
  const posted = await attempt.client.post(body);
  expect(posted).toMatchObject({ status: 200, body: expected });
  return posted.body;
}

const ok: ExecKind = async (attempt) => {
  const { name } = attempt;
  await run(attempt, shell(attempt, `echo ${name}; echo err-${name} >&2`), {
    status: 'succeeded',
    exit_code: 0,
    stdout: `${name}\n`,
    stderr: `err-${name}\n`,
    signal: null,
    oom: false,
  });
};

const compute: ExecKind = async (attempt) => {
  const n = attempt.random.between(1, 1000);
  const sum = String((n * (n + 1)) / 2);
  await run(attempt, python(attempt, `print(sum(range(${n} + 1)))`), {
    status: 'succeeded',
    stdout: `${sum}\n`,
  });
};

const failing: ExecKind = async (attempt) => {
  const code = attempt.random.between(1, 255);
  await run(attempt, shell(attempt, `echo ${attempt.name}; exit ${code}`), {
    status: 'failed',
    exit_code: code,
    signal: null,
    stdout: `${attempt.name}\n`,
  });
};

const signalled: ExecKind = async (attempt) => {
  const [number, signal] = attempt.random.pick([
    [11, 'SIGSEGV'],
    [15, 'SIGTERM'],
    [6, 'SIGABRT'],
    [9, 'SIGKILL'],
  ] as const);
  await run(attempt, shell(attempt, `echo ${attempt.name}; kill -${number} $$; sleep 60`), {
    status: 'failed',
    exit_code: 128 + number,
    signal,
    stdout: `${attempt.name}\n`,
  });
};

const tooLong: ExecKind = async (attempt) => {
  const timeout = attempt.random.between(1500, 3000);
  const script = `trap '' TERM; echo ${attempt.name}; sleep 200 & sleep 200; sleep 200`;
  await run(attempt, shell(attempt, script, { policy_overrides: { timeout_ms: timeout } }), {
    status: 'timed_out',
    signal: 'SIGKILL',
    stdout: `${attempt.name}\n`,
  });
};

const outOfMemory: ExecKind = async (attempt) => {
  const body = python(attempt, 'x = b"x" * (1 << 30)', { policy_overrides: { memory_mb: 48 } });
  await run(attempt, body, { status: 'oom_killed', oom: true });
};

const cancelled: ExecKind = async (attempt) => {
  const { client, random, name } = attempt;
  const script = `echo ${name}; touch begun-${name}; sleep 250`;
  const { exec_id: execId } = await client.submit(shell(attempt, script));
  const early = random.next() < 0.3;
  if (!early) {
    await client.until(execId, ({ status }) => status === 'running');
    await sleep(random.between(0, 600));
  }
  const answers = await Promise.all([client.cancel(execId), client.cancel(execId)]);
  for (const answer of answers) {
    expect(answer).toMatchObject({ status: 'cancelled', error_reason: 'cancelled by a caller' });
    expect(answer.started_at === null ? [''] : ['', `${name}\n`]).toContain(answer.stdout);
  }
  expect(answers[0]).toEqual(answers[1]);
};

const bigOutput: ExecKind = async (attempt) => {
  const { random } = attempt;
  const written = random.between(1, 12) * 1_000_000;
  const cap = random.pick([1000, 1_048_576, 16 * 1024 ** 2]);
  const answer = await run(
    attempt,
    shell(attempt, `yes ${attempt.name} | head -c ${written}; echo end >&2`, {
      policy_overrides: { max_stdout_bytes: cap },
    }),
    { status: 'succeeded', stdout_truncated: written > cap, stderr: 'end\n' },
  );
  const line = `${attempt.name}\n`;
  const kept = Math.min(written, cap);
  const expected = line.repeat(Math.ceil(kept / line.length)).slice(0, kept);
  expect(sha256(await readFile(answer.stdout_path))).toBe(sha256(expected));
};

const artifacts: ExecKind = async (attempt) => {
  const count = attempt.random.between(1, 40);
  const code = `
import os
for n in range(${count}):
    folder = '/workspace/artifacts/%d' % (n % 3)
    os.makedirs(folder, exist_ok=True)
    open('%s/%03d' % (folder, n), 'w').write('${attempt.name} %d' % n)
os.symlink('/etc/passwd', '/workspace/artifacts/link')
`;
  const answer = await run(attempt, python(attempt, code), {
    status: 'succeeded',
    artifacts_truncated: false,
  });
  const expected = Array.from({ length: count }, (_, n) => [
    `${n % 3}/${String(n).padStart(3, '0')}`,
    sha256(`${attempt.name} ${n}`),
  ]);
  const listed = answer.artifacts.map(({ path, sha256: hash }) => [path, hash]);
  expect(listed).toEqual(expected.sort());
};

const inputs: ExecKind = async (attempt) => {
  const content = attempt.name.repeat(attempt.random.between(1, 5000));
  // The second one is changed by everybody, so that they have to wait for each other.
  const files = [
    { path: `own/${attempt.name}`, content, secret: attempt.random.next() < 0.5 },
    ...(attempt.random.next() < 0.5 ? [{ path: 'shared', content: attempt.name }] : []),
  ];
  const cat = files.map(({ path }) => `cat /workspace/inputs/${path}`).join('; ');
  const body = shell(attempt, `(${cat}) | sha256sum`, { inputs: files });
  await run(attempt, body, {
    status: 'succeeded',
    stdout: `${sha256(files.map((file) => file.content).join(''))}  -\n`,
  });
};

const stdin: ExecKind = async (attempt) => {
  const given = attempt.name.repeat(attempt.random.between(1, 20_000));
  const body = shell(attempt, 'sha256sum', {}, { stdin: given });
  await run(attempt, body, { status: 'succeeded', stdout: `${sha256(given)}  -\n` });
};

const leftBehind: ExecKind = async (attempt) => {
  const script = `setsid sleep 300 & (setsid yes >/dev/null &); echo ${attempt.name}`;
  await run(attempt, shell(attempt, script), { status: 'succeeded', stdout: `${attempt.name}\n` });
};

const repeated: ExecKind = async (attempt) => {
  const headers = { 'idempotency-key': attempt.name };
  const body = shell(attempt, `echo ran >> ran-${attempt.name}; cat ran-${attempt.name}`);
  const send = () => attempt.client.post(body, { headers });
  const answers = [...(await Promise.all([send(), send(), send()])), await send()];
  for (const answer of answers) expect(answer).toEqual(answers[0]);
  expect(answers[0]).toMatchObject({ status: 200, body: { status: 'succeeded', stdout: 'ran\n' } });
  const other = await attempt.client.post(shell(attempt, 'true'), { headers });
  expect(other.status).toBe(422);
};

const watched: ExecKind = async (attempt) => {
  const { client, random, name } = attempt;
  const lines = random.between(5, 60);
  const script = `for n in $(seq ${lines}); do echo ${name} $n; sleep 0.01; done`;
  const { exec_id: execId } = await client.submit(shell(attempt, script));
  const seen: SentEvent[] = [];
  // One that leaves and comes back, one that leaves for good, and one that stays.
  const leavesAfter = random.between(1, 5);
  const staying = collect(client.events(execId));
  const leaving = collect(client.events(execId), random.between(1, 3));
  seen.push(...(await collect(client.events(execId), leavesAfter)));
  if (seen.at(-1)?.id.endsWith('.3') !== true) {
    await sleep(random.between(0, 300));
    seen.push(...(await collect(client.events(execId, seen.at(-1)?.id))));
  }
  await leaving;
  const expected = Array.from({ length: lines }, (_, n) => `${name} ${n + 1}\n`).join('');
  for (const events of [seen, await staying]) {
    const output = events.filter(({ event }) => event === 'stdout');
    expect(output.map(({ data }) => Buffer.from(data.base64 ?? '', 'base64').toString()).join('')).toBe(
      expected,
    );
    expect(events.at(-1)?.data.status).toBe('succeeded');
  }
};

async function collect(events: AsyncIterable<SentEvent>, most = Infinity): Promise<SentEvent[]> {
  const list: SentEvent[] = [];
  for await (const event of events) if (list.push(event) >= most) break;
  return list;
}

const abandoned: ExecKind = async (attempt) => {
  const { client, random, name } = attempt;
  const headers = { 'idempotency-key': `left-${name}` };
  const body = shell(attempt, `sleep 0.3; echo ran >> left-${name}; cat left-${name}`);
  const leaving = AbortSignal.timeout(random.between(1, 400));
  await client.post(body, { headers, signal: leaving }).catch(() => undefined);
  // Whether or not the request had arrived, the same again is the same exec, and it runs once.
  const answer = await client.post(body, { headers });
  expect(answer).toMatchObject({ status: 200, body: { status: 'succeeded', stdout: 'ran\n' } });
};

const refused: ExecKind = async (attempt) => {
  const { client, random } = attempt;
  const [status, more] = random.pick([
    [403, { policy_overrides: { memory_mb: 99_999 } }],
    [400, { policy_overrides: { pids: 'x' } }],
    [400, { inputs: [{ path: '../x', content: '' }] }],
    [400, { unknown: 1 }],
  ] as const);
  expect((await client.post(shell(attempt, 'true', more))).status).toBe(status);
};

export const execKinds: Readonly<Record<string, ExecKind>> = {
  ok,
  compute,
  failing,
  signalled,
  tooLong,
  outOfMemory,
  cancelled,
  bigOutput,
  artifacts,
  inputs,
  stdin,
  leftBehind,
  repeated,
  watched,
  abandoned,
  refused,
};
