import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ExecAnswer, InvocationAnswer } from '@secbox/contracts';
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { repositoryRoot } from '../../docker/setup/settings.mjs';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { invoke as post } from './invoke.js';

const at = { skills: '' };
let service: RunningService;

beforeAll(async () => {
  at.skills = await mkdtemp(join(tmpdir(), 'skills-'));
  await cp(join(repositoryRoot, 'skills', 'json.query'), join(at.skills, 'json.query'), { recursive: true });
  await putSkill('echo.input', { script: 'cat "$SECBOX_INPUT" > /workspace/artifacts/output.json' });
  await putSkill('say.text', {
    script: 'printf "%s" "$(jq -r .text "$SECBOX_INPUT")"',
    outputs: { type: 'string' },
  });
  await putSkill('break.promise', {
    script: `echo '{"n": "one"}'`,
    outputs: { type: 'object', properties: { n: { type: 'integer' } } },
  });
  await putSkill('print.words', { script: 'echo not json' });
  await putSkill('fail.always', { script: 'echo why >&2; exit 4' });
  await putSkill('try.work', {
    script: 'touch /workspace/work/x && echo 1 || echo 2',
    outputs: { type: 'integer' },
  });
  await putSkill('write.work', {
    script: 'echo a >> /workspace/work/x; wc -l < /workspace/work/x',
    outputs: { type: 'integer' },
    write: ['work/**'],
  });
  await putSkill('sleep.long', { script: 'sleep 60; echo 1', outputs: { type: 'integer' } });
  await putSkill('not.valid', { script: '', limits: { memory_mb: -1 } });
  await putSkill('list.inputs', { script: 'ls -R /workspace/inputs | jq -Rs "{text: .}"' });
  service = await startRunningService({ SECBOX_SKILLS_DIR: at.skills });
});
afterAll(async () => {
  await service.close();
  await rm(at.skills, { recursive: true });
});

interface SkillParts {
  readonly script: string;
  readonly outputs?: object;
  readonly write?: readonly string[];
  readonly limits?: object;
}

async function putSkill(id: string, parts: SkillParts): Promise<void> {
  const file = (name: string) => join(at.skills, id, name);
  await mkdir(dirname(file('x')), { recursive: true });
  await writeFile(file('run.sh'), parts.script);
  await writeFile(
    file('manifest.json'),
    JSON.stringify({
      schema_version: 1,
      id,
      name: id,
      description: 'Of a test.',
      interface: {
        inputs: { type: 'object', properties: { file: { 'x-secbox': 'file' }, n: { default: 5 } } },
        outputs: parts.outputs ?? { type: 'object' },
      },
      runtime: { kind: 'docker', image: 'sandbox', entrypoint: ['bash', './run.sh'] },
      permissions: { fs: { read: ['inputs/**'], write: parts.write ?? [] }, net: { mode: 'none' } },
      limits: parts.limits ?? { memory_mb: 128, timeout_ms: 90_000 },
    }),
  );
}

const invoke = (id: string, body: object = {}, headers?: Record<string, string>) =>
  post(service.url, id, body, headers);

async function invoked(
  id: string,
  body: object = {},
  headers?: Record<string, string>,
): Promise<InvocationAnswer> {
  const { status, body: answer } = await invoke(id, body, headers);
  expect([status, answer]).toEqual([200, answer]);
  return answer as InvocationAnswer;
}
const get = async (path: string): Promise<unknown> => (await fetch(`${service.url}${path}`)).json();
const row = async (id: string) => (await get(`/sandbox/execs/${id}`)) as ExecAnswer;

describe('a command of a caller’s own in the name of a skill', () => {
  const touch = (skillId: string, more: object = {}) =>
    service.shell('touch /workspace/work/x && echo wrote', { skill_id: skillId, ...more });

  test('has its limits as ceilings and its permissions, and promises nothing of its output', async () => {
    const exec = await touch('try.work');
    expect(exec).toMatchObject({ skill_id: 'try.work', skill_digest: null, status: 'failed', stdout: '' });
    expect(exec.policy_snapshot).toMatchObject({
      values: { memory_mb: 128 },
      sources: { memory_mb: 'manifest' },
    });
    expect(await touch('write.work')).toMatchObject({
      status: 'succeeded',
      stdout: 'wrote\n',
      output_error: null,
    });
    await expect(touch('try.work', { policy_overrides: { memory_mb: 256 } })).rejects.toThrow(
      /^403 .*policy_exceeded/,
    );
  });

  test('is no invocation of it, and is refused without a skill that can run', async () => {
    const { exec_id: id } = await touch('write.work');
    expect(await get(`/skills/write.work/execs/${id}`)).toMatchObject({ error: { code: 'exec_not_found' } });
    await expect(touch('no.such')).rejects.toThrow(/^404 .*skill_not_found/);
    await expect(touch('not.valid')).rejects.toThrow(/skill_invalid/);
  });
});

describe('an invocation', () => {
  test.each(['echo.input', 'say.text', 'break.promise', 'fail.always'])(
    'of %s is answered as it is told to whoever asks later',
    async (skillId) => {
      const answer = await invoked(skillId, { inputs: { text: 'é' } });
      expect(await get(`/skills/${skillId}/execs/${answer.exec_id}`)).toEqual(answer);
    },
  );

  test('hands the input over with defaults filled in, and is an exec like any other', async () => {
    const task = { task_id: 'task-1' };
    const answer = await invoked('echo.input', { inputs: { text: 'é' }, project_id: 'own', task_ref: task });
    expect(answer).toMatchObject({ status: 'succeeded', output: { text: 'é', n: 5 }, output_error: null });
    const exec = await row(answer.exec_id);
    expect(exec).toMatchObject({
      skill_id: 'echo.input',
      skill_digest: answer.skill_digest,
      kind: 'argv',
      project_id: 'own',
      task_id: 'task-1',
      cmd: 'bash',
      args: [`/workspace/inputs/${answer.exec_id}/run.sh`],
      env_keys: ['SECBOX_INPUT', 'SECBOX_SKILL_DIR'],
      output_error: null,
    });
    expect(exec.policy_snapshot.values.memory_mb).toBe(128);
    expect(exec.policy_snapshot.sources.memory_mb).toBe('manifest');
    expect(await get(`/skills/echo.input/execs/${answer.exec_id}`)).toEqual(answer);
    const { inputs } = (await get(`/sandbox/execs/${answer.exec_id}/inputs`)) as {
      inputs: { path: string }[];
    };
    expect(inputs.map(({ path }) => path)).toEqual([
      `${answer.exec_id}/input.json`,
      `${answer.exec_id}/run.sh`,
    ]);
    const listed = (await get('/sandbox/execs?skill_id=echo.input')) as { execs: { exec_id: string }[] };
    expect(listed.execs.map(({ exec_id: id }) => id)).toContain(answer.exec_id);
  });

  test('takes what was printed as text where text is promised, else as JSON', async () => {
    expect((await invoked('say.text', { inputs: { text: '[1]' } })).output).toBe('[1]');
    expect(Object.keys((await invoked('list.inputs')).output as object)).toEqual(['text']);
  });

  test('that breaks its own promise is told apart from one that failed', async () => {
    const broken = await invoked('break.promise');
    expect(broken).toMatchObject({ status: 'succeeded', exit_code: 0, output: null });
    expect(broken.output_error).toEqual({
      code: 'skill_output_invalid',
      message: 'stdout: "/n" has the wrong type, expected integer',
    });
    expect((await row(broken.exec_id)).output_error).toContain('"/n"');
    expect((await invoked('print.words')).output_error?.message).toBe('stdout is not JSON');
    const failed = await invoked('fail.always');
    expect(failed).toMatchObject({ status: 'failed', exit_code: 4, output: null, output_error: null });
    expect(failed.stderr_tail).toBe('why\n');
  });

  test('without a project gets one of its own, of which the artifacts stay and nothing else', async () => {
    const answer = await invoked('write.work');
    expect(answer).toMatchObject({ output: 1, project_id: `invocation-${answer.exec_id}` });
    const folder = join(service.dataDir, 'workspace/projects', answer.project_id);
    expect(await readdir(folder)).toEqual(['artifacts']);
    expect(await (await fetch(`${service.url}/sandbox/execs/${answer.exec_id}/stdout`)).text()).toBe('1\n');
    const disks = await readdir(join(service.dataDir, 'workspace/disks')).catch(() => []);
    expect(disks).not.toContain(answer.project_id);
    const again = await invoke('write.work', { project_id: answer.project_id });
    expect([again.status, again.body]).toMatchObject([400, { error: { code: 'invalid_id' } }]);
  });

  test('writes to work only where its manifest says so, and work outlives it in a project', async () => {
    expect((await invoked('try.work', { project_id: 'kept' })).output).toBe(2);
    expect((await invoked('write.work', { project_id: 'kept' })).output).toBe(1);
    expect((await invoked('write.work', { project_id: 'kept' })).output).toBe(2);
    expect((await invoked('try.work', { project_id: 'kept' })).output).toBe(2);
  });

  test('leaves nothing of its own in the inputs of its project for the next one', async () => {
    const first = await invoked('echo.input', { project_id: 'many' });
    const second = await invoked('list.inputs', { project_id: 'many' });
    const { text } = second.output as { text: string };
    expect(text).toContain(second.exec_id);
    expect(text).not.toContain(first.exec_id);
    const kept = await fetch(
      `${service.url}/sandbox/execs/${first.exec_id}/inputs/${first.exec_id}/input.json`,
    );
    expect(await kept.json()).toEqual({ n: 5 });
  });

  test('leaves nothing in a project that is never empty either, but on record for who could see it', async () => {
    const begin = async () => {
      const { body } = await invoke('sleep.long', { project_id: 'busy' }, { prefer: 'respond-async' });
      const { exec_id: id } = body as InvocationAnswer;
      while ((await row(id)).status !== 'running') await new Promise((resolve) => setTimeout(resolve, 20));
      return id;
    };
    const end = (id: string) => fetch(`${service.url}/sandbox/execs/${id}/cancel`, { method: 'POST' });
    const first = await begin();
    const second = await begin();
    await end(first);
    const third = await begin();
    await end(second);
    const { exec_id: id, output } = await invoked('list.inputs', { project_id: 'busy' });
    const { text } = output as { text: string };
    expect([first, second, third, id].filter((each) => text.includes(each))).toEqual([second, third, id]);
    await end(third);
    const { inputs } = (await get(`/sandbox/execs/${third}/inputs`)) as { inputs: { path: string }[] };
    expect(new Set(inputs.map(({ path }) => path.split('/')[0]))).toEqual(
      new Set([first, second, third, id]),
    );
  });

  test('uses the skill as it is at that moment, and says which by its digest', async () => {
    await putSkill('change.me', { script: 'sleep 3; echo 1', outputs: { type: 'integer' } });
    const found = async (digest?: string): Promise<string> => {
      for (;;) {
        const skill = (await get('/skills/change.me')) as { valid?: boolean; digest: string };
        if (skill.valid === true && skill.digest !== digest) return skill.digest;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    const digest = await found();
    const running = invoked('change.me');
    const before = new Promise((resolve) => setTimeout(resolve, 500));
    await before;
    await putSkill('change.me', { script: 'echo other', outputs: { type: 'string' } });
    const other = await found(digest);
    expect(await running).toMatchObject({ output: 1, skill_digest: digest });
    expect(await invoked('change.me')).toMatchObject({ output: 'other\n', skill_digest: other });
  });
});

describe('a file', () => {
  const sent = (file: object) => invoke('echo.input', { inputs: { file } });

  test('is brought by its content, and the program gets its path', async () => {
    const answer = await invoked('echo.input', {
      inputs: { file: { name: 'a b.txt', content_base64: 'AAEC' } },
    });
    const { file } = answer.output as { file: object };
    expect(file).toEqual({
      path: `/workspace/inputs/${answer.exec_id}/files/0/a b.txt`,
      name: 'a b.txt',
      size: 3,
      sha256: 'ae4b3280e56e2faf83f414a6e3dabe9d5fbe18976544c05fed121accb85b53fc',
    });
  });

  test('is an artifact of an earlier exec, with its hash checked', async () => {
    const { exec_id, artifacts } = await service.shell(
      'mkdir -p /workspace/artifacts/d; echo hello > "/workspace/artifacts/d/ä x.txt"',
    );
    const [artifact] = artifacts;
    const reference = { exec_id, path: 'd/ä x.txt' };
    const answer = await invoked('echo.input', {
      inputs: { file: { ...reference, sha256: artifact?.sha256 } },
    });
    expect((answer.output as { file: object }).file).toMatchObject({
      name: 'ä x.txt',
      size: 6,
      sha256: artifact?.sha256,
    });
    const wrong = await sent({ ...reference, sha256: '0'.repeat(64) });
    expect([wrong.status, wrong.body]).toMatchObject([
      400,
      { error: { code: 'invalid_input', details: { problems: [{ pointer: '/inputs/file/sha256' }] } } },
    ]);
    await writeFile(join(service.dataDir, `workspace/projects/p/artifacts/${exec_id}/d/ä x.txt`), 'jello\n');
    expect((await sent(reference)).body).toMatchObject({ error: { code: 'artifact_changed' } });
  });

  test.each([
    [{ content_base64: '!!' }, '/inputs/file/content_base64'],
    [{ exec_id: '00000000-0000-4000-8000-000000000000', path: 'x' }, '/inputs/file'],
    [{ exec_id: '00000000-0000-4000-8000-000000000000', path: '../x' }, '/inputs/file'],
    [{ content: 'x', name: '../x' }, '/inputs/file/name'],
    [{ content: 'x', name: 'a\u0000b' }, '/inputs/file/name'],
    [{ content: '\ud800' }, '/inputs/file/content'],
  ])('%j is refused with its place', async (file, pointer) => {
    const { status, body } = await sent(file);
    const { error } = body as { error: { code: string; details: { problems: { pointer: string }[] } } };
    expect([status, error.code, error.details.problems[0]?.pointer]).toEqual([400, 'invalid_input', pointer]);
  });
});

describe('waiting, cancelling and repeating', () => {
  test('an answer need not be waited for, and a run can be cancelled', async () => {
    const { status, body, headers } = await invoke('sleep.long', {}, { prefer: 'respond-async' });
    const answer = body as InvocationAnswer;
    expect([status, headers.get('location')]).toEqual([202, `/skills/sleep.long/execs/${answer.exec_id}`]);
    expect(answer).toMatchObject({ output: null, output_error: null });
    const events = await fetch(`${service.url}${answer.events_url}`);
    const cancelled = await fetch(`${service.url}/sandbox/execs/${answer.exec_id}/cancel`, {
      method: 'POST',
    });
    expect(await cancelled.json()).toMatchObject({ status: 'cancelled', skill_id: 'sleep.long' });
    expect(await events.text()).toContain('"status":"cancelled"');
    expect(await get(headers.get('location') ?? '')).toMatchObject({ status: 'cancelled', output: null });
    const folder = join(service.dataDir, 'workspace/projects', answer.project_id);
    expect(await readdir(folder)).toEqual(['artifacts']);
  });

  test('the same key is one exec, although each would have had a folder of its own', async () => {
    const key = { 'idempotency-key': 'k1' };
    const body = { inputs: { file: { content: 'x' }, n: 1 } };
    const answers = await Promise.all(Array.from({ length: 8 }, () => invoked('echo.input', body, key)));
    expect(new Set(answers.map(({ exec_id: id }) => id)).size).toBe(1);
    const other = await invoke('echo.input', { inputs: { n: 2 } }, key);
    expect([other.status, other.body]).toMatchObject([422, { error: { code: 'idempotency_key_reused' } }]);
  });

  test('a repeat is its exec also when the skill cannot run any more; another request is refused', async () => {
    const parts = { script: 'echo 1', outputs: { type: 'integer' } };
    const isValid = async (wanted: boolean) => {
      while (((await get('/skills/lose.answer')) as { valid?: boolean }).valid !== wanted)
        await new Promise((resolve) => setTimeout(resolve, 20));
    };
    await putSkill('lose.answer', parts);
    await isValid(true);
    const key = { 'idempotency-key': 'lost-answer' };
    const body = { inputs: { n: 1 } };
    const first = await invoked('lose.answer', body, key);
    await putSkill('lose.answer', { ...parts, limits: { memory_mb: -1 } });
    await isValid(false);
    expect(await invoked('lose.answer', body, key)).toMatchObject({
      exec_id: first.exec_id,
      status: 'succeeded',
    });
    const other = await invoke('lose.answer', { inputs: { n: 2 } }, key);
    expect([other.status, other.body]).toMatchObject([422, { error: { code: 'idempotency_key_reused' } }]);
    const fresh = await invoke('lose.answer', body);
    expect([fresh.status, fresh.body]).toMatchObject([409, { error: { code: 'skill_invalid' } }]);
  });
});

describe('the policy of a skill', () => {
  test('its limits are the ceiling of requests, and going past is recorded (case 46)', async () => {
    const less = await invoked('echo.input', { policy_overrides: { memory_mb: 64 } });
    expect((await row(less.exec_id)).policy_snapshot.values.memory_mb).toBe(64);
    const { status, body } = await invoke('echo.input', { policy_overrides: { memory_mb: 129 } });
    expect([status, body]).toMatchObject([
      403,
      { error: { code: 'policy_exceeded', details: { violations: [{ ceiling: 128, layer: 'manifest' }] } } },
    ]);
    const { error } = body as { error: { details: { exec_id: string } } };
    expect(await row(error.details.exec_id)).toMatchObject({ status: 'rejected', skill_id: 'echo.input' });
  });

  test.each([
    [{ policy_overrides: { image: 'data' } }, 403],
    [{ policy_overrides: { net: { mode: 'bridge' } } }, 403],
    [{ policy_overrides: { privileged: true } }, 403],
    [{ policy_overrides: { memory_mb: '64' } }, 400],
    [{ policy_overrides: { pids: 8.5 } }, 400],
    [{ runtime: 'runc' }, 400],
    [{ exec: { kind: 'argv' } }, 400],
    [{ inputs: [] }, 400],
    [{ project_id: '../x' }, 400],
  ])('%j is refused (cases 47, 49, 50)', async (body, status) => {
    expect((await invoke('echo.input', body)).status).toBe(status);
  });

  test('keys that reach a prototype are refused anywhere (case 50)', async () => {
    const response = await fetch(`${service.url}/skills/echo.input/invoke`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"inputs": {"a": [{"__proto__": {"x": 1}}]}}',
    });
    expect(response.status).toBe(400);
  });

  test('no request has a kind of its own for programs (case 47)', async () => {
    const exec = { kind: 'argv', command: 'bash', args: ['-c', 'id'] };
    await expect(service.exec({ exec })).rejects.toThrow('400');
    const input = { path: '00000000-0000-4000-8000-000000000000/x', content: '' };
    await expect(service.shell('true', { inputs: [input] })).rejects.toThrow('invalid_path');
  });

  test('a manifest that widens what Settings allow is listed as invalid, and not run (case 51)', async () => {
    await putSkill('ask.much', {
      script: 'echo 1',
      outputs: { type: 'integer' },
      limits: { memory_mb: 512 },
    });
    const skill = async () => (await get('/skills/ask.much')) as { valid?: boolean; problems: object[] };
    while ((await skill()).valid !== true) await new Promise((resolve) => setTimeout(resolve, 20));
    const put = (ceilings: object, version: number) =>
      fetch(`${service.url}/settings`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json', 'if-match': `"${version}"` },
        body: JSON.stringify({ policy: { values: { memory_mb: 128 }, ceilings } }),
      });
    expect((await put({ memory_mb: 256 }, 0)).status).toBe(200);
    expect(await skill()).toMatchObject({
      valid: false,
      problems: [{ file: 'manifest.json', pointer: '/limits/memory_mb', line: 1 }],
    });
    const refused = await invoke('ask.much');
    expect([refused.status, refused.body]).toMatchObject([409, { error: { code: 'skill_invalid' } }]);
    expect((await invoked('echo.input')).status).toBe('succeeded');
    expect((await put({}, 1)).status).toBe(200);
    expect((await invoked('ask.much')).output).toBe(1);
  });
});
