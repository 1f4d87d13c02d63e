import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { containersOf, inspectContainer, runningContainer } from './engine-view.js';
import { startRunningService, type RunningService } from './running-service.js';

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
});
afterAll(() => service.close());

describe('a running exec', () => {
  test('inspect equals the golden file in every hardening field (case 45)', async () => {
    const running = service.shell('touch ready; while [ ! -e /workspace/work/go ]; do sleep 0.05; done');
    const container = await runningContainer(service.dataDir);
    const inspected = await inspectContainer(container.Id);
    await service.shell('touch /workspace/work/go');
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

  test('leaves no container behind', async () => {
    await service.shell('true');
    expect(await containersOf(service.dataDir)).toEqual([]);
  });
});

/** The engine's account, without what differs from run to run or from one engine to the next. */
function hardeningOf(inspected: Record<string, unknown>): Record<string, unknown> {
  const { HostConfig, Config, Mounts, NetworkSettings } = inspected as unknown as Inspected;
  const listed = Object.entries(HostConfig).filter(
    ([key, value]) => !perMachine.includes(key) && !isUnset(value),
  );
  return {
    User: Config['User'],
    WorkingDir: Config['WorkingDir'],
    Tty: Config['Tty'],
    Healthcheck: Config['Healthcheck'],
    Labels: Object.fromEntries(Object.entries(Config.Labels).filter(([key]) => key.startsWith('secbox'))),
    HostConfig: {
      ...Object.fromEntries(listed),
      SecurityOpt: securityOptions(HostConfig['SecurityOpt'] as string[]),
    },
    // Engines differ in whether they list an unset field, so these are named to be seen.
    Unset: mustBeUnset.filter((key) => isUnset(HostConfig[key])),
    Mounts: Mounts.map(({ Type, Source, Destination, RW, Propagation }) => ({
      Type,
      Source,
      Destination,
      RW,
      Propagation,
    })).sort((a, b) => (a.Destination < b.Destination ? -1 : 1)),
    Networks: Object.keys(NetworkSettings.Networks).filter((network) => network !== 'none'),
  };
}

/** The seccomp profile is long; that it is ours, to the letter, is what counts. */
function securityOptions(options: readonly string[]): string[] {
  const profile = readFileSync(new URL('../../docker/seccomp.json', import.meta.url), 'utf8');
  return options.map((option) =>
    option === `seccomp=${profile}` ? 'seccomp=<docker/seccomp.json>' : option,
  );
}

interface Inspected {
  readonly HostConfig: Readonly<Record<string, unknown>>;
  readonly Config: Readonly<Record<string, unknown>> & { readonly Labels: Readonly<Record<string, string>> };
  readonly Mounts: readonly {
    readonly Type: string;
    readonly Source: string;
    readonly Destination: string;
    readonly RW: boolean;
    readonly Propagation: string;
  }[];
  readonly NetworkSettings: { readonly Networks: Readonly<Record<string, unknown>> };
}

const perMachine = ['CgroupnsMode', 'ConsoleSize', 'Isolation', 'MaskedPaths', 'ReadonlyPaths', 'Runtime'];

const mustBeUnset = [
  'Binds',
  'CapAdd',
  'CgroupParent',
  'DeviceCgroupRules',
  'DeviceRequests',
  'Devices',
  'ExtraHosts',
  'GroupAdd',
  'Links',
  'OomKillDisable',
  'PidMode',
  'PortBindings',
  'Privileged',
  'PublishAllPorts',
  'Sysctls',
  'UTSMode',
  'UsernsMode',
  'VolumesFrom',
];

function isUnset(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return !value;
}

describe('from inside', () => {
  test('no capability, no way to more of them, seccomp on, uid 1000', async () => {
    const { stdout } = await service.shell(
      "grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status; id -u; id -g; id -G",
    );
    const zero = '0000000000000000';
    expect(stdout.replaceAll('\t', ' ').trim().split('\n')).toEqual([
      `CapInh: ${zero}`,
      `CapPrm: ${zero}`,
      `CapEff: ${zero}`,
      `CapBnd: ${zero}`,
      `CapAmb: ${zero}`,
      'NoNewPrivs: 1',
      'Seccomp: 2',
      '1000',
      '1000',
      '1000',
    ]);
  });

  test('no network interface but lo, and no way out (case 40)', async () => {
    const { stdout } = await service.python(`
import os, socket
print(sorted(os.listdir('/sys/class/net')))
for family, kind, address in [
    (socket.AF_INET, socket.SOCK_STREAM, ('169.254.169.254', 80)),
    (socket.AF_INET, socket.SOCK_DGRAM, ('8.8.8.8', 53)),
]:
    try:
        socket.socket(family, kind).connect(address)
        print('connected', address)
    except OSError as error:
        print('refused', error.errno)
try:
    socket.getaddrinfo('example.org', 80)
    print('resolved')
except OSError:
    print('unresolved')
`);
    expect(stdout.trim().split('\n')).toEqual(["['lo']", 'refused 101', 'refused 101', 'unresolved']);
  });

  test('inputs are readable and not writable, by any means (case 44)', async () => {
    const { stdout, status } = await service.shell(
      [
        'cd /workspace/inputs',
        'cat data.txt',
        'echo x > data.txt || echo overwrite refused',
        'touch new || echo create refused',
        'rm -f data.txt || echo delete refused',
        'mv data.txt other || echo rename refused',
        'chmod 777 data.txt || echo chmod refused',
        'ln data.txt /workspace/work/hard || echo link refused',
      ].join('\n'),
      { inputs: [{ path: 'data.txt', content: 'given\n' }] },
    );
    expect(status).toBe('succeeded');
    expect(stdout.split('\n')).toEqual([
      'given',
      'overwrite refused',
      'create refused',
      'delete refused',
      'rename refused',
      'chmod refused',
      'link refused',
      '',
    ]);
  });

  test('the root is read-only; /tmp, home and /dev/shm are small and writable (case 32)', async () => {
    const { stdout } = await service.shell(
      [
        'for f in / /usr /etc /var/tmp /opt; do touch $f/x 2>/dev/null && echo wrote $f; done',
        'for f in /tmp ~ /dev/shm; do touch $f/x && echo wrote $f; done',
        "df --output=target,size -B1M /tmp ~ /dev/shm | tail -n +2 | tr -s ' '",
        'dd if=/dev/zero of=/tmp/fill bs=1M count=300 2>/dev/null || echo full',
      ].join('\n'),
    );
    expect(stdout.trim().split('\n')).toEqual([
      'wrote /tmp',
      'wrote /home/sandbox',
      'wrote /dev/shm',
      '/tmp 128',
      '/home/sandbox 64',
      '/dev/shm 16',
      'full',
    ]);
  });

  test('no setuid program, no mount, no device, no docker socket (cases 39, 41)', async () => {
    const { stdout } = await service.shell(
      [
        'find / -xdev -type f -perm /6000 2>/dev/null',
        'mount -t tmpfs none /tmp 2>/dev/null && echo mounted',
        'unshare -U true 2>/dev/null && echo unshared',
        'mknod /tmp/sda b 8 0 2>/dev/null && echo made a device',
        'echo 1 2>/dev/null > /proc/sys/kernel/panic && echo wrote to proc',
        'head -c1 /proc/kcore >/dev/null 2>&1 && [ -n "$(head -c1 /proc/kcore)" ] && echo read kcore',
        'ls /var/run/docker.sock /run/docker.sock 2>/dev/null',
        'echo done',
      ].join('\n'),
    );
    expect(stdout).toBe('done\n');
  });

  test('exotic sockets, io_uring, tracing and user namespaces are closed; localhost works (cases 39, 40)', async () => {
    const { stdout } = await service.python(`
import ctypes, os, socket, threading
libc = ctypes.CDLL(None, use_errno=True)
def call(name, number, *arguments):
    print(name, 'open' if libc.syscall(number, *arguments) >= 0 else ctypes.get_errno())
for name, family in [('vsock', 40), ('packet', 17), ('alg', 38), ('netlink', 16)]:
    try:
        socket.socket(family, socket.SOCK_DGRAM)
        print(name, 'open')
    except OSError as error:
        print(name, error.errno)
if os.uname().machine == 'x86_64':
    call('io_uring_setup', 425, 1, 0)
    call('ptrace', 101, 0, 0, 0, 0)
    call('unshare', 272, 0x10000000)
    call('prlimit of the init', 302, 1, 7, 0, 0)
    call('keyctl', 250, 0, -3)
server = socket.create_server(('localhost', 0))
threading.Thread(target=lambda: server.accept()[0].sendall(b'hello')).start()
print(socket.create_connection(('localhost', server.getsockname()[1])).recv(5).decode())
`);
    const lines = stdout.trim().split('\n');
    expect(lines.at(-1)).toBe('hello');
    expect(lines.length).toBeGreaterThanOrEqual(5);
    expect(lines.filter((line) => line.endsWith('open'))).toEqual([]);
  });

  test('python, python3, pip and the tools the API promises are there', async () => {
    const tools =
      'python python3 pip pip3 bash sh ls cat grep sed awk echo cp mv rm mkdir find curl jq git'.split(' ');
    const { stdout } = await service.shell(
      tools.map((tool) => `command -v ${tool} >/dev/null || echo missing ${tool}`).join('\n') +
        '\npython -c "import sys; print(sys.version_info >= (3, 11))"; python3 -c "print(1)"; pip --version >/dev/null && echo pip',
    );
    expect(stdout).toBe('True\n1\npip\n');
  });
});
