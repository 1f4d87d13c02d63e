import { describe, expect, test } from '@jest/globals';
import { answer, dockerDefault, ourProfile, type Rule } from './profile.js';

const rules = ourProfile.syscalls;
const allowing = rules.filter((rule) => rule.action === 'SCMP_ACT_ALLOW');
const conditional = (rule: Rule) => (rule.args ?? []).length > 0;
const highBits = [0n, 1n << 32n, 1n << 63n];
const EPERM = 1;
const ENOSYS = 38;
const EOPNOTSUPP = 95;
const EAFNOSUPPORT = 97;

describe('form', () => {
  test('what is not named is refused with EPERM, on engines that read defaultErrnoRet and on those that do not', () => {
    expect(ourProfile.defaultAction).toBe('SCMP_ACT_ERRNO');
    expect(ourProfile.defaultErrnoRet).toBe(EPERM);
  });

  test("only the machine's own way into the kernel", () => {
    expect(ourProfile).not.toHaveProperty('architectures');
    expect(ourProfile.archMap).toEqual([
      { architecture: 'SCMP_ARCH_X86_64', subArchitectures: [] },
      { architecture: 'SCMP_ARCH_AARCH64', subArchitectures: [] },
    ]);
  });

  test('every rule says why it is there and has the fields that engines read', () => {
    for (const rule of rules) {
      expect(rule.comment).toMatch(/\S/);
      const known = ['comment', 'names', 'action', 'errnoRet', 'args'];
      expect(Object.keys(rule).filter((key) => !known.includes(key))).toEqual([]);
      expect(['SCMP_ACT_ALLOW', 'SCMP_ACT_ERRNO']).toContain(rule.action);
    }
  });

  test('names are sorted within a rule and no rule is there twice', () => {
    for (const { names } of rules) expect(names).toEqual([...names].sort());
    const keys = rules.flatMap(({ names, args }) => names.map((name) => `${name} ${JSON.stringify(args)}`));
    expect(keys).toEqual([...new Set(keys)]);
  });

  test('a call with conditions has no rule without, which would win over them', () => {
    const narrowed = new Set(rules.filter(conditional).flatMap(({ names }) => names));
    const plain = rules.filter((rule) => !conditional(rule)).flatMap(({ names }) => names);
    expect(plain.filter((name) => narrowed.has(name))).toEqual([]);
    expect(plain).toEqual([...new Set(plain)]);
  });

  test('no rule has two conditions on one argument, which runtimes read as either of them', () => {
    for (const { args = [] } of rules) {
      const indexes = args.map(({ index }) => index);
      expect(indexes).toEqual([...new Set(indexes)]);
    }
  });

  test('a refusal has an errno: 0 would report success; one equal to the default would be dropped', () => {
    for (const { action, errnoRet } of rules) {
      expect(action === 'SCMP_ACT_ALLOW' ? [undefined] : [ENOSYS, EOPNOTSUPP, EAFNOSUPPORT]).toContain(
        errnoRet,
      );
    }
  });
});

describe("never looser than Docker 20.10's default", () => {
  const withArguments = new Set(dockerDefault.allowedWithArguments.map(({ name }) => name));

  test('a call open to every argument is open there too', () => {
    const ours = allowing.filter((rule) => !conditional(rule)).flatMap(({ names }) => names);
    expect(ours.filter((name) => !dockerDefault.allowed.includes(name))).toEqual([]);
  });

  test('a call open to some arguments is open there, to these arguments at least', () => {
    for (const { names, args } of allowing.filter(conditional)) {
      for (const name of names) {
        if (withArguments.has(name)) {
          expect(dockerDefault.allowedWithArguments).toContainEqual({ name, args });
        } else {
          expect(dockerDefault.allowed).toContain(name);
        }
      }
    }
  });

  test('no way into the kernel of an x86_64 machine that it does not have', () => {
    const [x86] = ourProfile.archMap ?? [];
    const ours = [x86?.architecture, ...(x86?.subArchitectures ?? [])];
    expect(dockerDefault.architectures).toEqual(expect.arrayContaining(ours));
  });
});

describe('closed whatever the arguments', () => {
  const closed = {
    'asynchronous I/O':
      'io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit io_uring_enter io_uring_register io_uring_setup',
    'other processes':
      'get_robust_list kcmp pidfd_getfd process_madvise process_mrelease process_vm_readv process_vm_writev ptrace',
    keys: 'add_key keyctl request_key',
    namespaces: 'clone3 setns unshare',
    mounts:
      'chroot fsconfig fsmount fsopen fspick mount mount_setattr move_mount open_tree open_tree_attr pivot_root umount umount2',
    'handles and watches past the mounts': 'fanotify_init fanotify_mark name_to_handle_at open_by_handle_at',
    'the kernel':
      'bpf delete_module finit_module init_module ioperm iopl kexec_file_load kexec_load perf_event_open reboot syslog vm86 vm86old',
    memory: 'memfd_secret modify_ldt remap_file_pages userfaultfd vmsplice',
    clocks: 'adjtimex clock_adjtime clock_settime settimeofday stime',
    'the host': 'acct quotactl quotactl_fd setdomainname sethostname swapoff swapon vhangup',
    obsolete: '_sysctl create_module lookup_dcookie nfsservctl sysfs uselib ustat',
    'hiding arguments behind a pointer': 'ipc socketcall',
  };
  const names = Object.entries(closed).flatMap(([group, list]) =>
    list.split(' ').map((name) => [group, name]),
  );

  test.each(names)('%s: %s', (_group, name = '') => {
    expect(allowing.filter((rule) => rule.names.includes(name))).toEqual([]);
  });
});

describe('closed for some arguments', () => {
  test('socket: only unix, and TCP and UDP over inet and inet6', () => {
    const stream = 1;
    const datagram = 2;
    for (const flags of [0, 0o4000, 0o2000000, 0o2004000]) {
      expect(answer(ourProfile, 'socket', [1, stream | flags, 0])).toBe('allowed');
      for (const family of [2, 10]) {
        expect(answer(ourProfile, 'socket', [family, stream | flags, 0])).toBe('allowed');
        expect(answer(ourProfile, 'socket', [family, stream | flags, 6])).toBe('allowed');
        expect(answer(ourProfile, 'socket', [family, datagram | flags, 0])).toBe('allowed');
        expect(answer(ourProfile, 'socket', [family, datagram | flags, 17])).toBe('allowed');
        for (const type of [3, 4, 5, 6, 10]) {
          expect(answer(ourProfile, 'socket', [family, type | flags, 0])).toBe(EPERM);
        }
        // ICMP, DCCP, L2TP, SCTP, UDP-Lite, SMC, MPTCP
        for (const protocol of [1, 33, 115, 132, 136, 256, 262]) {
          expect(answer(ourProfile, 'socket', [family, stream | flags, protocol])).toBe(EPERM);
          expect(answer(ourProfile, 'socket', [family, datagram | flags, protocol])).toBe(EPERM);
        }
      }
    }
    for (let family = 0; family < 64; family++) {
      if ([1, 2, 10].includes(family)) continue;
      for (const high of highBits) {
        for (const name of ['socket', 'socketpair']) {
          expect(answer(ourProfile, name, [high | BigInt(family), stream, 0])).not.toBe('allowed');
        }
      }
    }
    // AF_NETLINK, AF_PACKET, AF_ALG, AF_VSOCK, AF_XDP
    for (const family of [16, 17, 38, 40, 44]) {
      expect(answer(ourProfile, 'socket', [family, stream, 0])).toBe(EAFNOSUPPORT);
    }
  });

  test('socketpair: only unix', () => {
    expect(answer(ourProfile, 'socketpair', [1, 1, 0])).toBe('allowed');
    for (const family of [2, 10]) expect(answer(ourProfile, 'socketpair', [family, 1, 0])).toBe(EPERM);
  });

  test('prlimit64: only on oneself', () => {
    expect(answer(ourProfile, 'prlimit64', [0])).toBe('allowed');
    for (const pid of [1, 2, -1, 1n << 32n, (1n << 32n) | 1n]) {
      expect(answer(ourProfile, 'prlimit64', [pid])).toBe(EPERM);
    }
  });

  test('clone: no namespace', () => {
    // What a thread and a fork of the C library ask for.
    expect(answer(ourProfile, 'clone', [0x3d0f00])).toBe('allowed');
    expect(answer(ourProfile, 'clone', [0x1200011])).toBe('allowed');
    for (const flag of [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]) {
      for (const high of highBits) {
        expect(answer(ourProfile, 'clone', [high | BigInt(flag | 17)])).toBe(EPERM);
      }
    }
  });

  test('ioctl: no input pushed into a terminal, no console, no other line discipline', () => {
    // TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD, TIOCVHANGUP
    for (const request of [0x5412n, 0x541cn, 0x541dn, 0x5423n, 0x5437n]) {
      for (const high of highBits) expect(answer(ourProfile, 'ioctl', [0, high | request])).toBe(EPERM);
    }
    // TCGETS, TIOCGWINSZ, FIONREAD, FIOCLEX, TIOCGPTN, TIOCSPTLCK, TCGETS2, SIOCGIFCONF, FICLONE, FS_IOC_GETFLAGS
    for (const request of [0x5401, 0x5413, 0x541b, 0x5451, 0x80045430, 0x40045431, 0x802c542a, 0x8912]) {
      expect(answer(ourProfile, 'ioctl', [0, request])).toBe('allowed');
    }
    for (const request of [0x40049409, 0x80086601]) {
      expect(answer(ourProfile, 'ioctl', [0, request])).toBe('allowed');
    }
  });

  test('space is taken by writing only: no fallocate, none by ioctl', () => {
    expect(answer(ourProfile, 'fallocate')).toBe(EOPNOTSUPP);
    // FS_IOC_RESVSP, FS_IOC_RESVSP64, FS_IOC_ZERO_RANGE
    for (const request of [0x40305828n, 0x4030582an, 0x40305839n]) {
      for (const high of highBits) expect(answer(ourProfile, 'ioctl', [0, high | request])).toBe(EOPNOTSUPP);
    }
    // Every type but T and X is open, whatever its direction.
    for (let type = 0; type < 0x100; type++) {
      if (type === 0x54 || type === 0x58) continue;
      for (const direction of [0, 0x40000000, 0x80000000, 0xc0000000]) {
        expect(answer(ourProfile, 'ioctl', [0, direction + type * 0x100 + 1])).toBe('allowed');
      }
    }
  });

  test('mknod and renameat2: FIFOs and files, no device and no whiteout', () => {
    for (const [name, before] of [
      ['mknod', [0]],
      ['mknodat', [0, 0]],
    ] as const) {
      for (const type of [0, 0o10000, 0o100000, 0o140000]) {
        expect(answer(ourProfile, name, [...before, type | 0o644])).toBe('allowed');
      }
      for (const high of highBits) {
        for (const type of [0o20000n, 0o60000n]) {
          expect(answer(ourProfile, name, [...before, high | type | 0o644n])).toBe(EPERM);
        }
      }
    }
    for (const flags of [0, 1, 2]) {
      expect(answer(ourProfile, 'renameat2', [0, 0, 0, 0, flags])).toBe('allowed');
    }
    for (const high of highBits) {
      expect(answer(ourProfile, 'renameat2', [0, 0, 0, 0, high | 4n])).toBe(EPERM);
    }
  });

  test('personality: plain Linux or a query', () => {
    expect(answer(ourProfile, 'personality', [0])).toBe('allowed');
    expect(answer(ourProfile, 'personality', [0xffffffff])).toBe('allowed');
    for (const value of [8, 0x20000, 0x40000, 0x100000]) {
      expect(answer(ourProfile, 'personality', [value])).toBe(EPERM);
    }
  });
});

test.each(['clone3', 'fchmodat2', 'futex_wait', 'io_uring_setup', 'mseal', 'pkey_alloc'])(
  '%s is answered with ENOSYS, on which the C library falls back',
  (name) => {
    expect(answer(ourProfile, name)).toBe(ENOSYS);
  },
);
