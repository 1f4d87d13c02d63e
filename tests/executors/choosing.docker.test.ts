import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ExecAnswer } from '@secbox/contracts';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { begin, get, post, runCode, untilAssessed, withSubprocess } from './subprocess-service.js';

interface Health {
  readonly status: string;
  readonly warnings: readonly string[];
  readonly security: { readonly mode: string; readonly subprocess: { readonly available: boolean } };
}
const healthOf = (service: RunningService) => get<Health>(service.url, '/sandbox/health');
const safe = 'print(6 * 7)';
const typeOf = async (service: RunningService) => (await runCode(service.url, 'python', safe)).sandbox_type;

async function putSettings(service: RunningService, settings: object): Promise<number> {
  const { version } = await get<{ version: number }>(service.url, '/settings');
  const response = await fetch(`${service.url}/settings`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', 'if-match': `"${version}"` },
    body: JSON.stringify(settings),
  });
  return response.status;
}

describe('STRICT, as it is unless somebody says otherwise', () => {
  test('runs SAFE code in a container, with the executor turned on or off', async () => {
    const { SECBOX_SECURITY_MODE: _, ...on } = withSubprocess();
    const service = await startRunningService(on);
    try {
      await untilAssessed(service.url);
      expect(await typeOf(service)).toBe('docker');
      const { status, warnings, security } = await healthOf(service);
      expect(status).toBe('ok');
      expect(security).toEqual({
        mode: 'STRICT',
        subprocess: { available: true, programs: ['bash', 'python', 'python3'] },
      });
      expect(warnings).toEqual([expect.stringMatching(/^subprocess: turned on, and without effect/)]);
      // The word of Settings holds at once, and no longer than it is given.
      expect(await putSettings(service, { sandbox: { security_mode: 'PERMISSIVE' } })).toBe(200);
      expect(await typeOf(service)).toBe('subprocess');
      expect(await putSettings(service, { sandbox: { security_mode: 'STRICT' } })).toBe(200);
      expect(await typeOf(service)).toBe('docker');
      for (const wrong of ['permissive', '', null, 1, ['PERMISSIVE']])
        expect(await putSettings(service, { sandbox: { security_mode: wrong } })).toBe(400);
    } finally {
      await service.close();
    }
  });
});

describe('PERMISSIVE without the executor', () => {
  test.each([
    ['turned off', { SECBOX_SUBPROCESS: 'off' }, []],
    ['without its program', { SECBOX_SUBPROCESS_PROGRAM: '' }, [/is not set/]],
    ['with one that is not there', { SECBOX_SUBPROCESS_PROGRAM: '/nowhere' }, [/ENOENT/]],
    ['with one that is none', { SECBOX_SUBPROCESS_PROGRAM: '/usr/bin/true' }, [/not possible here/]],
  ] as const)('%s: everything in containers, and health says why', async (_how, environment, told) => {
    const service = await startRunningService({ ...withSubprocess(), ...environment });
    try {
      expect(await typeOf(service)).toBe('docker');
      const { status, warnings, security } = await healthOf(service);
      expect(status).toBe('ok');
      expect(security).toMatchObject({ mode: 'PERMISSIVE', subprocess: { available: false } });
      expect(warnings).toEqual(told.map((pattern) => expect.stringMatching(pattern)));
    } finally {
      await service.close();
    }
  });
});

describe('PERMISSIVE with the executor', () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await startRunningService(withSubprocess());
    await untilAssessed(service.url);
  });
  afterAll(() => service.close());

  test('SAFE code is a process of the host, on record as such', async () => {
    const ran = await runCode(service.url, 'python', safe, { project_id: 'p' });
    expect(ran).toMatchObject({
      success: true,
      stdout: '42\n',
      sandbox_type: 'subprocess',
      risk: { level: 'SAFE' },
    });
    const row = await get<ExecAnswer>(service.url, `/sandbox/execs/${ran.exec_id}`);
    expect(row).toMatchObject({
      sandbox_type: 'subprocess',
      image: 'host',
      start_mode: 'cold',
      cmd: 'python',
    });
    const folder = join(service.dataDir, 'workspace/projects/p/artifacts', ran.exec_id);
    expect(await readFile(join(folder, 'stdout.txt'), 'utf8')).toBe('42\n');
    const meta = JSON.parse(await readFile(join(folder, 'meta.json'), 'utf8')) as object;
    expect(meta).toMatchObject({ sandbox_type: 'subprocess', status: 'succeeded' });
    expect((await healthOf(service)).warnings).toEqual([
      expect.stringMatching(/^subprocess: what looks SAFE/),
    ]);
  });

  test.each([
    ['python that starts programs', 'python', 'import os; os.system("id")'],
    ['python that writes', 'python', 'open("f", "w").write("x")'],
    ['a module that nobody knows', 'python', 'import helper'],
    ['code that is none', 'python', 'print('],
    ['bash that reaches out', 'bash', 'curl http://example.org'],
    ['a disguise', 'python', 'getattr(__import__("o" + "s"), "system")("id")'],
    ['a fork bomb', 'bash', ':(){ :|:& };:'],
    ['javascript, whose engine no limit of memory fits', 'javascript', 'console.log(1)'],
  ])('%s runs in a container', async (_what, language, code) => {
    const { sandbox_type } = await runCode(service.url, language, code, { timeout: 5 });
    expect(sandbox_type).toBe('docker');
  });

  test('what was not all looked at runs in a container: scripts, variables, skills', async () => {
    const python = (exec: object, more: object = {}) =>
      post<ExecAnswer>(service.url, '/sandbox/execs', {
        project_id: 'q',
        exec: { kind: 'python', command: 'python', args: ['-c', safe], ...exec },
        ...more,
      });
    expect((await python({})).sandbox_type).toBe('subprocess');
    expect((await python({ env: { PYTHONPATH: '/workspace/work' } })).sandbox_type).toBe('docker');
    const inputs = [{ path: 'main.py', content: safe }];
    const script = await python({ args: ['/workspace/inputs/main.py'] }, { inputs });
    expect(script).toMatchObject({ sandbox_type: 'docker', stdout: '42\n' });
    const invoked = await post<ExecAnswer>(service.url, '/skills/python.run/invoke', {
      inputs: { code: safe },
    });
    expect((await get<ExecAnswer>(service.url, `/sandbox/execs/${invoked.exec_id}`)).sandbox_type).toBe(
      'docker',
    );
  });

  test('what an earlier exec left is not loaded in the place of a module that was looked at', async () => {
    const planted = await runCode(service.url, 'bash', 'echo "print(\'planted\')" > json.py', {
      project_id: 'planted',
    });
    expect(planted).toMatchObject({ success: true, sandbox_type: 'docker' });
    const ran = await runCode(service.url, 'python', 'import json\nprint(json.dumps([1]))', {
      project_id: 'planted',
    });
    expect(ran).toMatchObject({ sandbox_type: 'subprocess', stdout: '[1]\n' });
  });

  test('sees nothing of the server: no variables, no data, no arguments', async () => {
    process.env['SECBOX_CANARY'] = 'canary-7d1c';
    try {
      const ran = await runCode(service.url, 'bash', 'declare -x; pwd');
      expect(ran).toMatchObject({ success: true, sandbox_type: 'subprocess' });
      expect(ran.stdout).not.toMatch(/canary|SECBOX|DOCKER/);
      expect(ran.stdout).toContain('\n/workspace/work\n');
    } finally {
      delete process.env['SECBOX_CANARY'];
    }
  });

  test('files of the project are there, and stdin', async () => {
    await runCode(service.url, 'bash', 'echo kept > f', { project_id: 'files' });
    const exec = { kind: 'shell', command: 'bash', args: ['-lc', 'cat f; cat'], stdin: 'in' };
    const ran = await post<ExecAnswer>(service.url, '/sandbox/execs', { project_id: 'files', exec });
    expect(ran).toMatchObject({ sandbox_type: 'subprocess', stdout: 'kept\nin' });
  });

  test('a flood of output is cut, kept exactly, and stops nobody', async () => {
    const exec = { kind: 'python', command: 'python', args: ['-c', 'print("x" * 3000000)\nprint("end")'] };
    const policy_overrides = { max_stdout_bytes: 1_000_000 };
    const ran = await post<ExecAnswer>(service.url, '/sandbox/execs', {
      project_id: 'p',
      exec,
      policy_overrides,
    });
    expect(ran).toMatchObject({ sandbox_type: 'subprocess', status: 'succeeded', stdout_truncated: true });
    const kept = await readFile(ran.stdout_path, 'utf8');
    expect(kept).toBe('x'.repeat(1_000_000));
  });

  test.each([
    ['one that ends when asked', 'setsid sleep 300 & sleep 300'],
    ['one that does not listen', "trap '' TERM; sleep 300; sleep 300"],
    ['one that ends with 0 when asked', "trap 'exit 0' TERM; sleep 300 & wait"],
  ])('out of time: %s', async (_what, code) => {
    const started = performance.now();
    const ran = await runCode(service.url, 'bash', code, { timeout: 1 });
    expect(ran).toMatchObject({ sandbox_type: 'subprocess', status: 'timed_out', success: false });
    expect(performance.now() - started).toBeLessThan(60_000);
  });

  test('what a human has to agree to is chosen before, and runs as it was shown', async () => {
    const approvals = { from_level: 'SAFE', auto_approve: true };
    expect(await putSettings(service, { approvals })).toBe(200);
    try {
      const { exec_id } = await runCode(service.url, 'python', safe, { project_id: 'held' });
      const ended = async (): Promise<ExecAnswer> => {
        const row = await get<ExecAnswer>(service.url, `/sandbox/execs/${exec_id}`);
        return row.ended_at === null ? ended() : row;
      };
      expect(await ended()).toMatchObject({
        status: 'succeeded',
        stdout: '42\n',
        sandbox_type: 'subprocess',
      });
      const { plan } = await get<{ plan: object }>(service.url, `/approvals/${exec_id}`);
      expect(plan).toMatchObject({ image: 'host', image_digest: 'host' });
    } finally {
      expect(await putSettings(service, {})).toBe(200);
    }
  });

  test('cancelled: it ends, and the row says so', async () => {
    const id = await begin(service.url, service.dataDir, 'echo up; sleep 300');
    const ended = await post<ExecAnswer>(service.url, `/sandbox/execs/${id}/cancel`, {});
    expect(ended).toMatchObject({ status: 'cancelled', sandbox_type: 'subprocess', stdout: 'up\n' });
  });
});
