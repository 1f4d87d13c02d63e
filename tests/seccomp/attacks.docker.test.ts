import { beforeAll, describe, expect, test } from '@jest/globals';
import { runInContainer } from './container.js';
import { dockerProfile, ourProfile } from './profile.js';

/** What attacks.py prints. */
interface Tried {
  readonly beyondTheDefault: Readonly<Record<string, string>>;
  readonly namespaces: Readonly<Record<string, string>>;
  readonly closed: Readonly<Record<string, string>>;
  readonly socketFamilies: readonly number[];
  readonly refusedTerminalRequests: readonly number[];
  readonly refusedOtherRequests: readonly number[];
  readonly newest: readonly string[];
}

let underDocker: Tried;
let underOurs: Tried;
beforeAll(async () => {
  [underDocker, underOurs] = (await Promise.all([
    runInContainer('attacks.py', dockerProfile),
    runInContainer('attacks.py', ourProfile),
  ])) as [Tried, Tried];
}, 60_000);

interface Attack {
  readonly name: string;
  readonly ours: string;
  /** The answer under Docker's default, where it lets the call through to the kernel. */
  readonly docker?: string;
  /** The answers of a kernel that was built or set up without it. */
  readonly absent?: readonly string[];
  readonly only?: NodeJS.Architecture;
}

const attacks: readonly Attack[] = [
  { name: 'fallocate', ours: 'ENOTSUP' },
  { name: 'preallocation by ioctl', ours: 'ENOTSUP' },
  { name: 'preallocation by ioctl, 64 bits', ours: 'ENOTSUP' },
  { name: 'preallocation by ioctl, high bits set', ours: 'ENOTSUP' },
  { name: 'io_uring', ours: 'ENOSYS', absent: ['EPERM', 'ENOSYS'] },
  { name: 'Linux AIO', ours: 'ENOSYS' },
  { name: 'AF_VSOCK', ours: 'EAFNOSUPPORT', absent: ['EAFNOSUPPORT'] },
  { name: 'AF_VSOCK, high bits set', ours: 'EAFNOSUPPORT', absent: ['EAFNOSUPPORT'] },
  { name: 'AF_NETLINK', ours: 'EAFNOSUPPORT' },
  { name: 'AF_PACKET', ours: 'EAFNOSUPPORT', docker: 'EPERM', absent: ['EAFNOSUPPORT'] },
  { name: 'AF_ALG', ours: 'EAFNOSUPPORT', absent: ['EAFNOSUPPORT'] },
  { name: 'AF_XDP', ours: 'EAFNOSUPPORT', docker: 'EPERM', absent: ['EAFNOSUPPORT'] },
  { name: 'MPTCP', ours: 'EPERM', absent: ['EPROTONOSUPPORT'] },
  { name: 'UDP-Lite', ours: 'EPERM', absent: ['EPROTONOSUPPORT'] },
  { name: 'a ping socket', ours: 'EPERM', absent: ['EACCES'] },
  { name: 'prlimit64 of another process', ours: 'EPERM' },
  { name: 'ptrace of a child', ours: 'EPERM' },
  { name: 'get_robust_list of another', ours: 'EPERM' },
  { name: 'a whiteout by mknodat', ours: 'EPERM' },
  { name: 'a whiteout by mknodat, high bits set', ours: 'EPERM' },
  { name: 'a whiteout by renameat2', ours: 'EPERM' },
  { name: 'a whiteout by renameat2, high bits set', ours: 'EPERM' },
  { name: 'TIOCSTI', ours: 'EPERM', absent: ['EIO'] },
  { name: 'TIOCSTI, high bits set', ours: 'EPERM', absent: ['EIO'] },
  { name: 'TIOCSETD', ours: 'EPERM' },
  { name: 'TIOCSETD, high bits set', ours: 'EPERM' },
  { name: 'memfd_secret', ours: 'ENOSYS', absent: ['ENOSYS'] },
  { name: 'vmsplice', ours: 'ENOSYS' },
  { name: 'remap_file_pages', ours: 'ENOSYS', docker: 'EINVAL' },
  { name: 'adjtimex', ours: 'EPERM' },
  { name: 'clock_adjtime', ours: 'EPERM' },
  { name: 'fanotify_mark', ours: 'EPERM', docker: 'EINVAL' },
  { name: 'process_mrelease', ours: 'EPERM', docker: 'EBADF', absent: ['ENOSYS'] },
  { name: 'personality of 32 bits', ours: 'EPERM' },
  { name: 'a whiteout by mknod', ours: 'EPERM', only: 'x64' },
  { name: 'modify_ldt', ours: 'ENOSYS', absent: ['ENOSYS'], only: 'x64' },
  { name: 'a 32-bit call', ours: 'SIGSYS', absent: ['SIGSEGV'], only: 'x64' },
  {
    name: 'AF_VSOCK by the 32-bit socketcall',
    ours: 'SIGSYS',
    absent: ['SIGSEGV', 'EAFNOSUPPORT'],
    only: 'x64',
  },
  { name: 'an x32 call', ours: 'SIGSYS', absent: ['ENOSYS'], only: 'x64' },
];
const here = attacks.filter(({ only }) => only === undefined || only === process.arch);

describe("open under Docker's default, closed under ours (cases 33, 39, 40)", () => {
  test.each(here)('$name', ({ name, ours, docker = 'ok', absent = [] }) => {
    expect([docker, ...absent]).toContain(underDocker.beyondTheDefault[name]);
    expect(underOurs.beyondTheDefault[name]).toBe(ours);
  });

  test('every attack of the program is in the table', () => {
    expect(Object.keys(underOurs.beyondTheDefault).sort()).toEqual(here.map(({ name }) => name).sort());
  });

  test('sockets are of the families unix, inet and inet6', () => {
    expect(underDocker.socketFamilies).toEqual(expect.arrayContaining([1, 2, 10, 16]));
    expect(underOurs.socketFamilies).toEqual([1, 2, 10]);
  });

  test('only the known ioctls of a terminal are open, every other one is', () => {
    expect(underDocker.refusedTerminalRequests).toEqual([]);
    const open = [
      ...[0x5400, 0x5401, 0x5402, 0x5403, 0x5404, 0x5405, 0x5406, 0x5407, 0x5408, 0x5409, 0x540a, 0x540b],
      ...[0x540c, 0x540d, 0x540e, 0x540f, 0x5410, 0x5411, 0x5413, 0x5414, 0x541b, 0x5420, 0x5421, 0x5422],
      ...[0x5424, 0x5425, 0x5429, 0x5441, 0x5450, 0x5451, 0x5452, 0x5460],
    ];
    const all = Array.from({ length: 0x100 }, (_, low) => 0x5400 + low);
    expect(underOurs.refusedTerminalRequests).toEqual(all.filter((request) => !open.includes(request)));
    expect(underOurs.refusedOtherRequests).toEqual([]);
  });
});

describe('closed under both', () => {
  test('clone makes a process, but no namespace (case 39)', () => {
    const { none, ...kinds } = underOurs.namespaces;
    expect(none).toBe('ok');
    expect(Object.keys(kinds)).toHaveLength(8);
    expect(new Set(Object.values(kinds))).toEqual(new Set(['EPERM']));
  });

  test('mounts, keys, modules, tracing, clocks and the rest of what an administrator calls (case 39)', () => {
    const open = Object.entries(underOurs.closed).filter(
      ([, answered]) => !['EPERM', 'ENOSYS'].includes(answered),
    );
    expect(open).toEqual([]);
    expect(Object.keys(underOurs.closed).length).toBeGreaterThan(45);
    expect(underOurs.closed).toMatchObject({ clone3: 'ENOSYS', unshare: 'EPERM', mount: 'EPERM' });
  });

  test('a call newer than the profile looks like one of a newer kernel', () => {
    expect(underOurs.newest).toEqual(['ENOSYS', 'ENOSYS']);
  });
});
