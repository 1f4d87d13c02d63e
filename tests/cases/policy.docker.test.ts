import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { limitFields, type ExecAnswer } from '@secbox/contracts';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { pathsIn } from '../lifecycle/data-folder.js';

let service: RunningService;
beforeEach(async () => {
  service = await startRunningService();
});
afterEach(async () => {
  const made = (await pathsIn(service.dataDir)).filter((path) => /^workspace\/(?!product)/.test(path));
  await service.close();
  // What is refused makes no folder, let alone a container.
  expect(made).toEqual(['workspace/projects', 'workspace/removed', 'workspace/spool']);
});

interface Answered {
  readonly status: number;
  readonly code: string | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;
}

async function send(method: string, path: string, body: string, headers = {}): Promise<Answered> {
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  const { error } = (await response.json()) as { error?: Omit<Answered, 'status'> };
  return { status: response.status, code: error?.code, details: error?.details };
}

const exec = { kind: 'shell', command: 'bash', args: ['-lc', 'true'] };
const post = (more: Record<string, unknown>) =>
  send('POST', '/sandbox/execs', JSON.stringify({ project_id: 'p', exec, ...more }));
const override = (policy: Record<string, unknown>) => post({ policy_overrides: policy });
const putSettings = (policy: Record<string, unknown>, version = 0) =>
  send('PUT', '/settings', JSON.stringify({ policy }), { 'if-match': `"${version}"` });

async function rowOf({ details }: Answered): Promise<ExecAnswer> {
  const response = await fetch(`${service.url}/sandbox/execs/${String(details?.['exec_id'])}`);
  return (await response.json()) as ExecAnswer;
}

/** What asked for something else than a 400 of this kind got. */
async function unlike(expected: Partial<Answered>, bodies: readonly string[]): Promise<unknown[]> {
  const others: unknown[] = [];
  for (const body of bodies) {
    const { status, code } = await send('POST', '/sandbox/execs', body);
    if (status !== expected.status || (expected.code !== undefined && code !== expected.code)) {
      others.push({ body: body.slice(0, 200), status, code });
    }
  }
  return others;
}

const hardCeilings = {
  timeout_ms: 300_000,
  max_stdout_bytes: 16 * 1024 ** 2,
  max_stderr_bytes: 16 * 1024 ** 2,
  max_artifacts_bytes_total: 1024 ** 3,
  memory_mb: 8192,
  cpu_cores: 8,
  pids: 2048,
} as const;

test.each(limitFields)(
  'case 46: a request that raises %s past its ceiling is a 403, and audited',
  async (field) => {
    const asked = hardCeilings[field] + 1;
    const refused = await override({ [field]: asked });
    expect(refused).toMatchObject({
      status: 403,
      code: 'policy_exceeded',
      details: { violations: [{ field, asked, ceiling: expect.any(Number), layer: expect.any(String) }] },
    });
    const row = await rowOf(refused);
    expect(row).toMatchObject({ status: 'rejected', exit_code: null, started_at: null, project_id: 'p' });
    expect(row.error_reason).toContain(field);

    // Settings may draw the line lower, and not higher.
    const lower = Math.max(1, Math.floor(hardCeilings[field] / 8));
    expect(await putSettings({ ceilings: { [field]: asked } })).toMatchObject({ status: 403 });
    expect(await putSettings({ values: { [field]: asked } })).toMatchObject({ status: 403 });
    expect(await putSettings({ ceilings: { [field]: lower } })).toMatchObject({ status: 200 });
    expect(await override({ [field]: lower + 1 })).toMatchObject({
      status: 403,
      details: { violations: [{ field, asked: lower + 1, ceiling: lower, layer: 'settings' }] },
    });
  },
);

test('case 46: several fields at once are all told, and the allowed ones buy nothing', async () => {
  const refused = await override({ memory_mb: 9000, pids: 64, timeout_ms: 400_000 });
  const { violations } = refused.details as { violations: { field: string }[] };
  expect(violations.map(({ field }) => field).sort()).toEqual(['memory_mb', 'timeout_ms']);
  expect((await rowOf(refused)).policy_snapshot.values).toMatchObject({ pids: 256, memory_mb: 1024 });
});

test('case 47: another network, image, user, privilege, capability, mount, device or runtime is refused', async () => {
  const ways: Record<string, unknown>[] = [
    ...['bridge', 'host', 'container:x', 'default', 'slirp4netns', 'NONE', ''].map((mode) => ({
      net: { mode },
    })),
    ...[
      { net: { mode: 'none', ports: [80] } },
      { net: 'host' },
      { network: 'host' },
      { network_mode: 'host' },
    ],
    ...[{ image: 'debian' }, { image: 'secbox/sandbox:latest' }, { user: '0' }, { user: 'root' }, { uid: 0 }],
    ...[{ privileged: true }, { capabilities: ['SYS_ADMIN'] }, { cap_add: ['ALL'] }, { security_opt: [] }],
    ...[{ seccomp: 'unconfined' }, { mounts: [{ source: '/', target: '/host' }] }, { binds: ['/:/host'] }],
    ...[{ volumes: {} }, { devices: ['/dev/kvm'] }, { runtime: 'runc' }, { pid: 'host' }, { ipc: 'host' }],
    ...[
      { userns: 'host' },
      { read_only_root: false },
      { tmpfs: {} },
      { entrypoint: ['sh'] },
      { HostConfig: {} },
    ],
  ];
  for (const way of ways) {
    const inPolicy = await override(way);
    expect([400, 403]).toContain(inPolicy.status);
    if (inPolicy.status === 403) expect((await rowOf(inPolicy)).status).toBe('rejected');
    // Beside the policy there is no such word at all.
    if (!('net' in way)) expect(await post(way)).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(await post({ exec: { ...exec, ...way } })).toMatchObject({ status: 400, code: 'invalid_request' });
    // A writable root is an administrator's to allow; nothing else of this is anybody's.
    if (!('read_only_root' in way)) expect([400, 403]).toContain((await putSettings({ values: way })).status);
  }
});

test('case 48: variables that run something before the command, and names that are none, are refused', async () => {
  const names = [
    ...['LD_PRELOAD', 'LD_LIBRARY_PATH', 'LD_AUDIT', 'LD_DEBUG', 'LD_', 'GLIBC_TUNABLES', 'GCONV_PATH'],
    ...['BASH_ENV', 'ENV', 'SHELLOPTS', 'BASHOPTS', 'PS4', 'PROMPT_COMMAND', 'BASH_FUNC_ls%%', 'BASH_FUNC_x'],
    ...['PYTHONSTARTUP', 'PYTHONHOME'],
    ...['A=B', '=', 'A\0', '', ' ', 'A B', '1A', 'A\nB', 'Ä', 'A-B', 'x'.repeat(300)],
  ];
  const bodies = names.map((name) =>
    JSON.stringify({ project_id: 'p', exec: { ...exec, env: { [name]: 'x' } } }),
  );
  const values = ['a\0b', 'half\ud800', 7, null, ['x']].map((value) =>
    JSON.stringify({ project_id: 'p', exec: { ...exec, env: { A: value } } }),
  );
  expect(await unlike({ status: 400, code: 'invalid_request' }, [...bodies, ...values])).toEqual([]);
});

test('case 49: "512", 1.5 pids, -1, 0, null, [512] and 1e999 are a 400 for every limit', async () => {
  const values = [
    '"512"',
    '-1',
    '0',
    '-0',
    'null',
    '[512]',
    '{}',
    'true',
    '1e999',
    '-1e999',
    '""',
    '"NaN"',
    '1e-9',
  ];
  const bodies = limitFields.flatMap((field) =>
    [...values, ...(field === 'cpu_cores' ? [] : ['1.5'])].map(
      (value) => `{"project_id":"p","exec":${JSON.stringify(exec)},"policy_overrides":{"${field}":${value}}}`,
    ),
  );
  expect(await unlike({ status: 400, code: 'invalid_policy' }, bodies)).toEqual([]);
  const whole = ['null', '[]', '"x"', '7'].map(
    (value) => `{"project_id":"p","exec":${JSON.stringify(exec)},"policy_overrides":${value}}`,
  );
  expect(await unlike({ status: 400 }, whole)).toEqual([]);
});

test('case 50: an unknown key, constructor or __proto__ anywhere is a 400, and nothing is polluted', async () => {
  const command = '"kind":"shell","command":"bash","args":["-lc","true"]';
  const places = (key: string, value: string) => [
    `{"project_id":"p","${key}":${value},"exec":{${command}}}`,
    `{"project_id":"p","exec":{${command},"${key}":${value}}}`,
    `{"project_id":"p","exec":{${command}},"inputs":[{"path":"a","content":"","${key}":${value}}]}`,
    `{"project_id":"p","exec":{${command}},"policy_overrides":{"${key}":${value}}}`,
    `{"project_id":"p","exec":{${command}},"policy_overrides":{"net":{"mode":"none","${key}":${value}}}}`,
    `{"project_id":"p","exec":{${command}},"task_ref":{"${key}":${value}}}`,
  ];
  const environment = (key: string) => `{"project_id":"p","exec":{${command},"env":{"${key}":"x"}}}`;
  const hostile = ['__proto__', 'constructor', 'prototype', '\\u005f_proto__'];
  const bodies = [
    ...hostile.flatMap((key) => places(key, '{"polluted":1}')),
    ...hostile.map(environment),
    ...['unknown', 'toString', 'hasOwnProperty', '', 'Project_id', 'exec ', '0'].flatMap((key) =>
      places(key, '1'),
    ),
    `{"__proto__":{"project_id":"p","exec":{${command}}}}`,
    `[{"project_id":"p","exec":{${command}}}]`,
  ];
  expect(await unlike({ status: 400 }, bodies)).toEqual([]);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  const settings = ['__proto__', 'constructor', 'unknown'].map(
    (key) => `{"policy":{"values":{"${key}":{"a":1}}}}`,
  );
  for (const body of settings) {
    expect((await send('PUT', '/settings', body, { 'if-match': '"0"' })).status).toBe(400);
  }
});
