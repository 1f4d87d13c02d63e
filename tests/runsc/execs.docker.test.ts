import { readFile } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ExecAnswer } from '@secbox/contracts';
import request from 'supertest';
import { containersGone, containersOf, inspectContainer, runningContainer } from '../exec/engine-view.js';
import { fileAppears } from '../exec/file-appears.js';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { startEngineWithRunsc, type EngineWithRunsc } from './engine-with-runsc.js';

/** As with the private engine, on which they run. */
const onLinuxAsRoot = process.platform === 'linux' && process.getuid?.() === 0;

(onLinuxAsRoot ? describe : describe.skip)('under gVisor', () => {
  let engine: EngineWithRunsc;
  beforeAll(async () => {
    engine = await startEngineWithRunsc();
    process.env['DOCKER_HOST'] = engine.dockerHost;
  });
  afterAll(() => engine.close());

  describe.each(['dockerode', 'cli'])('by %s', (adapter) => {
    let service: RunningService;
    beforeAll(async () => {
      service = await startRunningService({ DOCKER_HOST: engine.dockerHost, SECBOX_ENGINE_ADAPTER: adapter });
      const settings = { sandbox: { runtime: 'runsc' } };
      await request(service.url).put('/settings').set('if-match', '"0"').send(settings).expect(200);
    });
    afterAll(async () => {
      expect(await containersOf(service.dataDir)).toEqual([]);
      await service.close();
    });

    test('an exec has its exact output, its exit code, its variables and its input', async () => {
      const answer = await service.python(
        [
          'import os, sys',
          'sys.stdout.buffer.write(bytes(range(256)) * 4096 + os.environb[b"GREETING"])',
          'sys.stdout.buffer.write(sys.stdin.buffer.read())',
          'sys.stderr.write("told\\n")',
          'sys.exit(7)',
        ].join('\n'),
        {
          exec: { env: { GREETING: 'héllo' }, stdin: 'x'.repeat(300_000) },
          policy_overrides: { max_stdout_bytes: 4_000_000 },
        },
      );
      expect(answer).toMatchObject({ status: 'failed', exit_code: 7, stderr: 'told\n', error_reason: null });
      const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
      const given = Buffer.from(`héllo${'x'.repeat(300_000)}`);
      const expected = Buffer.concat([...Array.from({ length: 4096 }, () => every), given]);
      expect(Buffer.compare(await readFile(answer.stdout_path), expected)).toBe(0);
    });

    test('it meets another kernel than the host, and its record says under what it ran', async () => {
      await containersGone(service.dataDir);
      const running = service.shell('uname -r; touch begun; while [ ! -e go ]; do sleep 0.05; done');
      await fileAppears(join(service.dataDir, 'workspace/projects/p/work/begun'));
      const inspected = await inspectContainer((await runningContainer(service.dataDir)).Id);
      await service.shell('touch go');
      const { stdout, policy_snapshot: policy, artifacts_dir: folder } = await running;
      expect(stdout).not.toBe(`${release()}\n`);
      expect(policy.runtime).toEqual({ value: 'runsc', layer: 'settings' });
      const meta = JSON.parse(await readFile(join(folder, 'meta.json'), 'utf8')) as ExecAnswer;
      expect(meta.policy_snapshot).toEqual(policy);
      expect(inspected['HostConfig']).toMatchObject({
        Runtime: 'runsc',
        NetworkMode: 'none',
        CapDrop: ['ALL'],
        ReadonlyRootfs: true,
        Privileged: false,
        Memory: 1024 ** 3,
        NanoCpus: 1e9,
      });
    });

    test('what cannot be measured is null, not a wrong figure', async () => {
      const answer = await service.python('print(sum(range(10 ** 6)))');
      expect(answer).toMatchObject({
        status: 'succeeded',
        cpu_ms: null,
        peak_memory_bytes: null,
        oom: false,
      });
    });

    test('it ends at its deadline, whatever it ignores', async () => {
      const late = await service.shell('trap "" TERM INT; echo begun; while :; do sleep 1; done', {
        policy_overrides: { timeout_ms: 3000 },
      });
      expect(late).toMatchObject({ status: 'timed_out', signal: 'SIGKILL', stdout: 'begun\n' });
    });

    test('it can be cancelled', async () => {
      const posted = await request(service.url)
        .post('/sandbox/execs?wait=false')
        .send({
          project_id: 'p',
          exec: { kind: 'shell', command: 'bash', args: ['-lc', 'touch cancel-me; sleep 250'] },
        });
      const { exec_id: execId } = posted.body as ExecAnswer;
      await fileAppears(join(service.dataDir, 'workspace/projects/p/work/cancel-me'));
      const cancelled = await request(service.url).post(`/sandbox/execs/${execId}/cancel`);
      expect(cancelled.body).toMatchObject({ status: 'cancelled', signal: 'SIGKILL' });
    });

    test('nothing lives on after its command, and what it left is collected', async () => {
      const answer = await service.shell(
        [
          'mkdir -p /workspace/artifacts/folder && echo result > /workspace/artifacts/folder/file',
          'for n in 1 2 3; do (trap "" TERM HUP; setsid bash -c "while :; do date >> /workspace/work/alive; done" &) ; done',
          'while [ ! -s /workspace/work/alive ]; do sleep 0.05; done; echo over',
        ].join('\n'),
      );
      expect(answer).toMatchObject({
        status: 'succeeded',
        stdout: 'over\n',
        artifacts: [{ path: 'folder/file' }],
      });
      const alive = join(service.dataDir, 'workspace/projects/p/work/alive');
      const size = (await readFile(alive)).length;
      await service.shell('true');
      expect((await readFile(alive)).length).toBe(size);
    });

    test('inputs cannot be changed, nor the root; there is no network and no capability', async () => {
      const { stdout } = await service.shell(
        [
          'cat /workspace/inputs/data.txt',
          'echo x 2>/dev/null > /workspace/inputs/data.txt || echo overwrite refused',
          'rm -f /workspace/inputs/data.txt 2>/dev/null || echo delete refused',
          'ln /workspace/inputs/data.txt hard 2>/dev/null || echo link refused',
          'touch /usr/x 2>/dev/null || echo root refused',
          'id -u; grep CapEff /proc/self/status | tr "\\t" " "; grep -o "^ *[a-z0-9]*:" /proc/net/dev | tr -d " "',
          'python -c "import socket; socket.create_connection((\'8.8.8.8\', 53), 5)" 2>&1 | grep -o "unreachable\\|No route"',
          'head -c 200000000 /dev/zero 2>/dev/null > /tmp/fill; wc -c < /tmp/fill',
        ].join('\n'),
        { inputs: [{ path: 'data.txt', content: 'given\n' }] },
      );
      expect(stdout.trim().split('\n')).toEqual([
        'given',
        'overwrite refused',
        'delete refused',
        'link refused',
        'root refused',
        '1000',
        'CapEff: 0000000000000000',
        'lo:',
        expect.stringMatching(/unreachable|No route/),
        String(128 * 1024 ** 2),
      ]);
    });

    test.each([
      ['kills', 'os.kill(1, 9)'],
      ['drowns', "os.write(os.open('/proc/1/fd/1', os.O_WRONLY), b'x' * 64)"],
    ])('a program that %s its init has failed, and nothing more', async (_what, attack) => {
      const answer = await service.python(`import os, time\n${attack}\ntime.sleep(60)`);
      expect(answer).toMatchObject({ status: 'failed', exit_code: null, cpu_ms: null });
      expect(answer.error_reason).toContain('before it told how its command ended');
    });

    test('a program that speaks for its init tells nothing but its exit code', async () => {
      const answer = await service.python(`
import os, struct
measured = bytes([0, 0, 1, 7]) + struct.pack('>IQQQQ', 1, 1, 1_000_000, 1 << 40, 1 << 40)
frame = b'Sb' + bytes([8, 0]) + struct.pack('>I', len(measured)) + measured
os.write(os.open('/proc/1/fd/1', os.O_WRONLY), frame)
os.kill(1, 9)
`);
      expect(answer).toMatchObject({
        status: 'succeeded',
        exit_code: 0,
        oom: false,
        cpu_ms: null,
        peak_memory_bytes: null,
      });
    });

    test('its init cannot be traced, nor its limits changed', async () => {
      const { stdout } = await service.python(`
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(name, number, *arguments):
    print(name, 'worked' if libc.syscall(number, *arguments) >= 0 else 'refused')
if os.uname().machine == 'x86_64':
    call('attach', 101, 16, 1, 0, 0)
    call('seize', 101, 0x4206, 1, 0, 0)
    call('prlimit', 302, 1, 0, ctypes.byref((ctypes.c_ulong * 2)(0, 0)), 0)
try:
    open('/proc/1/mem', 'rb')
    print('memory worked')
except OSError:
    print('memory refused')
`);
      expect(stdout).toMatch(/memory refused/);
      expect(stdout).not.toMatch(/worked/);
    });

    test('a memory bomb and a fork bomb end their own sandbox, and nothing else', async () => {
      const peer = service.shell('sleep 5; echo unharmed');
      const hungry = await service.python('b = []\nwhile True: b.append(bytearray(b"x") * (16 << 20))', {
        policy_overrides: { memory_mb: 128 },
      });
      expect(hungry).toMatchObject({ status: 'oom_killed', oom: true });
      const forks = await service.python('import os\nwhile True: os.fork()', {
        policy_overrides: { pids: 32, timeout_ms: 30_000 },
      });
      expect(['failed', 'timed_out', 'oom_killed']).toContain(forks.status);
      expect(await peer).toMatchObject({ status: 'succeeded', stdout: 'unharmed\n' });
    });

    test('a small limit of processes leaves room for as many', async () => {
      const answer = await service.python(
        [
          'import os, time',
          'for _ in range(30):',
          '    if os.fork() == 0: time.sleep(60)',
          'print("as many")',
        ].join('\n'),
        { policy_overrides: { pids: 32 } },
      );
      expect(answer).toMatchObject({ status: 'succeeded', stdout: 'as many\n' });
    });
  });
});
