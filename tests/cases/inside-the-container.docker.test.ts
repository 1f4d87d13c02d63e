import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecAnswer } from '@secbox/contracts';
import { containersGone, inspectContainer, runningContainer } from '../exec/engine-view.js';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { pooled, poolHas } from '../pool/pooled.js';
import { hardeningOf } from './inspected-hardening.js';

/** Each is tried in a container of its own, and in one that was started before anybody knew for whom. */
describe.each(['cold', 'warm'] as const)('%s', (road) => {
  const waiting = 2;
  let service: RunningService;
  /** How the execs of a test started, in the order of their answers. */
  let startModes: ExecAnswer['start_mode'][];
  beforeAll(async () => {
    const started = await startRunningService(road === 'warm' ? pooled(waiting) : {});
    const noted = async (running: Promise<ExecAnswer>) => {
      const answer = await running;
      startModes.push(answer.start_mode);
      return answer;
    };
    service = {
      ...started,
      shell: (...asked) => noted(started.shell(...asked)),
      python: (...asked) => noted(started.python(...asked)),
    };
  });
  afterAll(() => service.close());
  beforeEach(async () => {
    startModes = [];
    if (road === 'warm') await poolHas(service.url, waiting);
  });
  // Whoever comes quickly after another may find none that waits.
  afterEach(() => expect(startModes[0] ?? road).toBe(road));

  const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex');
  const linesOf = ({ stdout }: ExecAnswer) => stdout.trim().split('\n');

  /** How long past its deadline an exec ended; of three tries the best, as a busy machine may be late itself. */
  async function lateness(run: () => Promise<ExecAnswer>): Promise<number> {
    const late: number[] = [];
    for (let tries = 0; tries < 6 && Math.min(Infinity, ...late) >= 1000; tries += 1) {
      const answer = await run();
      expect(answer.status).toBe('timed_out');
      late.push((answer.duration_ms ?? Infinity) - answer.policy_snapshot.values.timeout_ms);
    }
    return Math.min(...late);
  }

  test('case 30: a fork bomb meets the pids cap, and is dead within a second of the deadline', async () => {
    const late = await lateness(() =>
      service.shell('bomb() { bomb | bomb & }; while :; do bomb 2>/dev/null; done', {
        policy_overrides: { timeout_ms: 3000, pids: 64 },
      }),
    );
    expect(late).toBeLessThan(1000);
    await containersGone(service.dataDir);
    const counted = await service.python(
      `
import os, time
made = 0
try:
    while True:
        if os.fork() == 0: time.sleep(600)
        made += 1
except BlockingIOError:
    print(made)
`,
      { policy_overrides: { pids: 64 } },
    );
    expect(counted.status).toBe('succeeded');
    expect(Number(counted.stdout)).toBeGreaterThan(32);
    expect(Number(counted.stdout)).toBeLessThan(64);
  });

  test.each([
    ['by one process', 'x = bytearray(400 * 1024 ** 2)'],
    [
      'by many',
      'import os\nfor _ in range(20):\n  if os.fork() == 0: break\nx = bytearray(30 * 1024 ** 2)\nwhile True: x += bytes(4096)',
    ],
    [
      'by a process that avoids the killer',
      'open("/proc/self/oom_score_adj", "w").write("0"); x = b"x" * (1 << 30)',
    ],
  ])('case 31: a memory bomb, %s, is oom_killed, and host and API are unharmed', async (_how, code) => {
    const answer = await service.python(code, { policy_overrides: { memory_mb: 64, pids: 64 } });
    expect(answer).toMatchObject({ status: 'oom_killed', oom: true });
    expect((await service.shell('echo alive')).stdout).toBe('alive\n');
  });

  test('case 34: yes for the whole timeout: a capped file, the flag, and the program is not stopped for it', async () => {
    const answer = await service.shell('yes & yes out >&2', {
      policy_overrides: { timeout_ms: 3000, max_stdout_bytes: 100_001, max_stderr_bytes: 7 },
    });
    expect(answer).toMatchObject({ status: 'timed_out', stdout_truncated: true, stderr_truncated: true });
    expect(await readFile(answer.stdout_path, 'utf8')).toBe('y\n'.repeat(50_000) + 'y');
    expect(await readFile(answer.stderr_path, 'utf8')).toBe('out\nout');
    const goesOn = await service.shell('yes | head -c 3000000; echo finished > /workspace/artifacts/end', {
      policy_overrides: { max_stdout_bytes: 1 },
    });
    expect(goesOn).toMatchObject({ status: 'succeeded', stdout: 'y', stdout_truncated: true });
    expect(goesOn.artifacts).toHaveLength(1);
  });

  test('case 35: binary output, split UTF-8 and ANSI are in the files byte for byte', async () => {
    const binary = await service.python(
      'import sys; b = bytes(range(256)) * 2000; sys.stdout.buffer.write(b); sys.stderr.buffer.write(b[::-1])',
    );
    const expected = Buffer.from(Array.from({ length: 256 * 2000 }, (_, index) => index % 256));
    expect(sha256(await readFile(binary.stdout_path))).toBe(sha256(expected));
    expect(sha256(await readFile(binary.stderr_path))).toBe(sha256(expected.reverse()));
    const split = await service.python(`
import os, time
for byte in 'é\\u202e😀\\x1b[31m\\x00\\r\\n'.encode() + b'\\xff\\xc3':
    os.write(1, bytes([byte])); time.sleep(0.002)
`);
    const bytes = Buffer.concat([Buffer.from('é\u202e😀\x1b[31m\x00\r\n'), Buffer.from([0xff, 0xc3])]);
    expect(await readFile(split.stdout_path)).toEqual(bytes);
    // As text, what is no UTF-8 is replaced; never is a whole character lost where it was cut in two.
    expect(split.stdout).toBe('é\u202e😀\x1b[31m\x00\r\n\ufffd\ufffd');
  });

  test('case 36: reading stdin: end of file at once when none was given, else what was given', async () => {
    expect((await service.shell('cat; echo over')).stdout).toBe('over\n');
    expect((await service.shell('cat; echo over', { exec: { stdin: '' } })).stdout).toBe('over\n');
    expect((await service.python('import sys; print(repr(sys.stdin.read()))')).stdout).toBe("''\n");
    const given = await service.shell('cat; echo over', { exec: { stdin: 'abc\n'.repeat(50_000) } });
    expect(sha256(await readFile(given.stdout_path))).toBe(sha256('abc\n'.repeat(50_000) + 'over\n'));
  });

  test('case 37: setsid sleep 999 & and exit: the exec ends at once, and nothing survives', async () => {
    const first = await service.shell(
      'echo t > /tmp/t; setsid sleep 999 & (nohup sleep 999 <&- >&- 2>&- &) ; disown -a; echo started',
      { project_id: 'keep' },
    );
    expect(first).toMatchObject({ status: 'succeeded', stdout: 'started\n' });
    // Long before its time is up, let alone theirs.
    expect(first.duration_ms).toBeLessThan(15_000);
    const second = await service.shell('ls /tmp | wc -l; cat /proc/[0-9]*/comm | grep -c sleep', {
      project_id: 'keep',
    });
    expect(second.stdout).toBe('0\n0\n');
    await containersGone(service.dataDir);
  });

  test.each([
    [
      'ignores every signal',
      "trap '' $(seq 1 31 | grep -vx -e 9 -e 19) 2>/dev/null; echo before; while :; do sleep 0.1; done",
    ],
    ['stops itself', 'echo before; kill -STOP $$; sleep 999'],
    ['stops all it started', 'sleep 999 & sleep 999 & echo before; kill -STOP %1 %2 $$'],
  ])(
    'case 38: what %s is killed at the deadline: timed_out, with what it had printed',
    async (_how, script) => {
      const late = await lateness(async () => {
        const answer = await service.shell(script, { policy_overrides: { timeout_ms: 1000 } });
        expect(answer).toMatchObject({ status: 'timed_out', stdout: 'before\n', signal: 'SIGKILL' });
        return answer;
      });
      // It could go on for ever: this is no question of a second on a busy machine.
      expect(late).toBeLessThan(10_000);
    },
  );

  test('case 39: setuid, mount, unshare, mknod, bpf, keyctl: no gain; signals, ptrace, prlimit, /proc/1: no effect', async () => {
    const attacks = readFileSync(new URL('no-gain.py', import.meta.url), 'utf8');
    const answer = await service.python(attacks);
    expect(answer).toMatchObject({ status: 'failed', exit_code: 7, signal: null, stderr: '' });
    const user = [1000, 1000, 1000];
    expect(JSON.parse(answer.stdout)).toEqual({ worked: [], ids: [user, user] });
  });

  test('case 39: no capability, no way to more of them, seccomp on, uid 1000', async () => {
    const answer = await service.shell(
      "grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status; id -u; id -g; id -G",
    );
    const none = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((set) => `${set}:\t0000000000000000`);
    expect(linesOf(answer)).toEqual([...none, 'NoNewPrivs:\t1', 'Seccomp:\t2', '1000', '1000', '1000']);
  });

  test('case 40: TCP, UDP, DNS, the metadata address, AF_PACKET, AF_VSOCK and io_uring fail; localhost works', async () => {
    const answer = await service.python(`
import ctypes, os, socket, threading
print(sorted(os.listdir('/sys/class/net')))
opened = []
def attempt(name, function):
    try:
        function()
        opened.append(name)
    except OSError:
        pass
def connect(family, kind, *address): socket.socket(family, kind).connect(address)
addresses = ['169.254.169.254', '8.8.8.8', '10.0.0.1', '172.17.0.1', '192.168.0.1', '100.100.100.200', '255.255.255.255']
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    for port in (53, 80, 443, 2375):
        for address in addresses:
            attempt(address, lambda: connect(socket.AF_INET, kind, address, port))
        for address in ('fd00:ec2::254', '2001:4860:4860::8888', 'fe80::1%lo'):
            attempt(address, lambda: connect(socket.AF_INET6, kind, address, port))
for name in ('example.org', 'metadata.google.internal', 'host.docker.internal', 'gateway.docker.internal'):
    attempt(name, lambda: socket.getaddrinfo(name, 80))
for family in range(64):
    if family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6): continue
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        attempt('family %d' % family, lambda: socket.socket(family, kind))
for protocol in (socket.IPPROTO_ICMP, socket.IPPROTO_RAW, socket.IPPROTO_UDP):
    attempt('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, protocol))
libc = ctypes.CDLL(None)
for call in (425, 426, 427):
    if libc.syscall(call, 1, ctypes.create_string_buffer(256), 0, 0, 0, 0) >= 0: opened.append('io_uring %d' % call)
print(opened)
server = socket.create_server(('localhost', 0))
threading.Thread(target=lambda: server.accept()[0].sendall(b'hello')).start()
print(socket.create_connection(('localhost', server.getsockname()[1])).recv(5).decode())
`);
    expect(linesOf(answer)).toEqual(["['lo']", '[]', 'hello']);
  });

  test('case 41: /proc/sys cannot be written, /proc/kcore not read, and there is no docker.sock', async () => {
    const answer = await service.python(`
import os, stat
written, read, sockets = [], [], []
for root, _, names in [*os.walk('/proc/sys'), *os.walk('/sys'), ('/proc', [], ['sysrq-trigger', 'self/oom_adj', 'irq/default_smp_affinity'])]:
    for path in (os.path.join(root, name) for name in names):
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
            written.append(path)
        except OSError: pass
for path in ('kcore', 'kmem', 'keys', 'timer_list', 'sched_debug', 'latency_stats', 'scsi', 'kmsg', 'kpagecount'):
    try:
        if os.path.isdir('/proc/' + path): read += os.listdir('/proc/' + path)
        elif open('/proc/' + path, 'rb', 0).read(1): read.append(path)
    except OSError: pass
for path in ('/dev/mem', '/dev/kmsg', '/dev/sda', '/dev/vda', '/dev/fuse', '/dev/kvm', '/dev/net/tun', '/sys/firmware/dmi'):
    if os.path.exists(path): read.append(path)
for root, _, names in os.walk('/'):
    if root.startswith('/proc'): continue
    sockets += [os.path.join(root, name) for name in names if stat.S_ISSOCK(os.lstat(os.path.join(root, name)).st_mode)]
print([path for path in written if path != '/proc/self/oom_adj'], read, sockets)
print(sorted({*os.listdir('/dev')} - {'core'}))
`);
    expect(linesOf(answer)).toEqual([
      '[] [] []',
      "['fd', 'full', 'mqueue', 'null', 'ptmx', 'pts', 'random', 'shm', 'stderr', 'stdin', 'stdout', 'tty', 'urandom', 'zero']",
    ]);
  });

  test.each([
    ...[
      '/proc/self/fd/8',
      '/etc',
      '../..',
      '/',
      '/workspace',
      '/workspace/work/../..',
      '/workspace/worker',
      '',
    ],
    ...[
      'work',
      '/workspace/inputs/..',
      '/proc/1/root',
      '//workspace/work',
      '/WORKSPACE/work',
      '/workspace/work\0',
    ],
  ])('case 42: a cwd of %j is a 400', async (cwd) => {
    await expect(service.shell('pwd', { exec: { cwd } })).rejects.toThrow(/^400 .*"invalid_path"/);
  });

  test('case 42: a cwd that a program made a link to elsewhere leads nowhere but inside', async () => {
    await service.shell('ln -s /proc/self/fd link; ln -s / root', { project_id: 'linked' });
    const inside = await service.shell(`pwd -P; ls -d workspace; [ -e .${service.dataDir} ] || echo inside`, {
      project_id: 'linked',
      exec: { cwd: '/workspace/work/root' },
    });
    expect(inside.stdout).toBe('/\nworkspace\ninside\n');
    const other = await service.shell('pwd -P', {
      project_id: 'linked',
      exec: { cwd: '/workspace/work/link' },
    });
    expect(other.stdout).toMatch(/^\/proc\/\d+\/fd\n$/);
  });

  test('case 43: a segfault: status and signal told, and no core file', async () => {
    const answer = await service.python(
      'import ctypes, os, resource; os.chdir("/workspace/artifacts"); print(resource.getrlimit(resource.RLIMIT_CORE), flush=True); ctypes.string_at(0)',
      { project_id: 'segfault' },
    );
    expect(answer).toMatchObject({
      status: 'failed',
      exit_code: 139,
      signal: 'SIGSEGV',
      stdout: '(0, 0)\n',
      artifacts: [],
    });
    expect(await readdir(join(service.dataDir, 'workspace/projects/segfault/work'))).toEqual([]);
    // Which is not the same as a program that only says so.
    expect(await service.shell('exit 139')).toMatchObject({ status: 'failed', exit_code: 139, signal: null });
  });

  test('case 44: inputs are readable, and neither written, linked nor renamed, by any means', async () => {
    const answer = await service.shell(
      [
        'cd /workspace/inputs',
        'cat data.txt',
        'exec 2>/dev/null',
        'echo x > data.txt || echo overwrite refused',
        'echo x >> data.txt || echo append refused',
        'truncate -s 0 data.txt || echo truncate refused',
        'touch new || echo create refused',
        'mkdir new || echo mkdir refused',
        'rm -f data.txt || echo delete refused',
        'mv data.txt other || echo rename refused',
        'mv -T /workspace/work data.txt || echo replace refused',
        'chmod 777 data.txt || echo chmod refused',
        'touch -d 2001-01-01 data.txt || echo times refused',
        'ln data.txt /workspace/work/hard || echo link out refused',
        'touch /workspace/work/mine; ln /workspace/work/mine here || echo link in refused',
        'exec 3<data.txt; echo x > /proc/self/fd/3 || echo descriptor refused',
      ].join('\n'),
      { project_id: 'inputs', inputs: [{ path: 'data.txt', content: 'given\n' }] },
    );
    expect(linesOf(answer)).toEqual([
      'given',
      ...['overwrite', 'append', 'truncate', 'create', 'mkdir', 'delete', 'rename', 'replace'].map(refused),
      ...['chmod', 'times', 'link out', 'link in', 'descriptor'].map(refused),
    ]);
    const inputs = join(service.dataDir, 'workspace/projects/inputs/inputs');
    expect(await readdir(inputs)).toEqual(['data.txt']);
    expect(await readFile(join(inputs, 'data.txt'), 'utf8')).toBe('given\n');
  });
  const refused = (what: string) => `${what} refused`;

  // What a warm one has in common with this is shown with the pool.
  if (road === 'warm') return;
  test('case 45: inspect of a running container equals the golden file in every hardening field', async () => {
    const project = { project_id: 'p' };
    await containersGone(service.dataDir);
    const running = service.shell('while [ ! -e /workspace/work/go ]; do sleep 0.05; done', project);
    const container = await runningContainer(service.dataDir);
    const inspected = await inspectContainer(container.Id);
    await service.shell('touch /workspace/work/go', project);
    const { exec_id: execId, status } = await running;
    expect(status).toBe('succeeded');

    const golden = (await readFile(new URL('inspect.golden.json', import.meta.url), 'utf8'))
      .replaceAll('<data>', service.dataDir)
      .replaceAll('<exec_id>', execId);
    expect(hardeningOf(inspected)).toEqual(JSON.parse(golden));
    const { MaskedPaths, ReadonlyPaths } = inspected['HostConfig'] as Record<string, string[]>;
    expect(MaskedPaths).toEqual(
      expect.arrayContaining(['/proc/kcore', '/proc/keys', '/proc/timer_list', '/sys/firmware']),
    );
    expect(ReadonlyPaths).toEqual(
      expect.arrayContaining(['/proc/sys', '/proc/sysrq-trigger', '/proc/irq', '/proc/bus']),
    );
  });
});
