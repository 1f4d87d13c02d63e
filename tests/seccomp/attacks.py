"""Tries what a hostile program would try, and prints what the kernel answered: "ok", an errno or a signal.

Numbers of calls are given for x86_64 and for aarch64; a call that a machine does not have is left out.
"""

import ctypes
import errno
import json
import mmap
import os
import platform
import pty
import signal
import struct
import termios

X86 = platform.machine() == "x86_64"
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

SOCKET, SOCKETPAIR = (41, 53) if X86 else (198, 199)
IOCTL = 16 if X86 else 29
CLONE = 56 if X86 else 220
HIGH = 1 << 32  # The kernel reads an int: these bits are there for the filter only.


def number(value):
    return ctypes.c_ulong(value & (2**64 - 1)) if isinstance(value, int) else value


def raw(nr, *args):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(nr), *map(number, args))
    return result, ctypes.get_errno()


def call(nr, *args):
    result, failed = raw(nr, *args)
    return "ok" if result != -1 else errno.errorcode.get(failed, str(failed))


def room(size=256):
    return ctypes.create_string_buffer(size)


def in_child(attempt):
    """Some answers are a signal."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, attempt().encode())
        finally:
            os._exit(0)
    os.close(writer)
    _, status = os.waitpid(child, 0)
    said = os.read(reader, 100).decode()
    os.close(reader)
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else said


def with_victim(attempt):
    victim = os.fork()
    if victim == 0:
        signal.pause()
    try:
        return attempt(victim)
    finally:
        os.kill(victim, signal.SIGKILL)
        os.waitpid(victim, 0)


def in_terminal(attempt):
    """In a child whose controlling terminal, on descriptor 0, does not echo."""
    reader, writer = os.pipe()
    child, master = pty.fork()
    if child == 0:
        modes = termios.tcgetattr(0)
        modes[3] &= ~termios.ECHO
        termios.tcsetattr(0, termios.TCSANOW, modes)
        os.write(writer, attempt().encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(master)
    return os.read(reader, 100).decode()


def machine_code_32(nr, first=0, second=0):
    """A call through int 0x80, the way into the kernel of 32-bit programs."""

    def attempt():
        code = b"\x53\xb8" + struct.pack("<I", nr) + b"\xbb" + struct.pack("<I", first)
        code += b"\xb9" + struct.pack("<I", second) + b"\x31\xd2\xcd\x80\x5b\x48\x98\xc3"
        memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        memory.write(code)
        result = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))()
        return "ok" if result >= 0 else errno.errorcode.get(-result, str(result))

    return in_child(attempt)


def socketcall_32(family):
    below_4g = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40)
    below_4g.write(struct.pack("<III", family, 1, 0))
    return machine_code_32(102, 1, ctypes.addressof(ctypes.c_char.from_buffer(below_4g)))


def beyond_the_default():
    path = ctypes.c_char_p
    limits = ctypes.create_string_buffer(struct.pack("QQ", 64, 64))
    whiteout = 0o20600
    mknodat, renameat2 = (259, 316) if X86 else (33, 276)
    prlimit64 = 302 if X86 else 261
    personality = 135 if X86 else 92
    for name in ("/tmp/a", "/tmp/b"):
        open(name, "w").close()

    def line_discipline(high):
        master, terminal = os.openpty()
        return call(IOCTL, terminal, high | 0x5423, ctypes.create_string_buffer(struct.pack("i", 0)))

    def pushed_input(high):
        return in_terminal(lambda: call(IOCTL, 0, high | 0x5412, ctypes.create_string_buffer(b"x")))

    def vmsplice():
        reader, writer = os.pipe()
        return call(278 if X86 else 75, writer, 0, 0, 0)

    def reserved(request):
        with open("/tmp/reserved", "wb") as file:
            space = struct.pack("hhqqIi16x", 0, 0, 0, 1 << 20, 0, 0)
            return call(IOCTL, file.fileno(), request, ctypes.create_string_buffer(space))

    def preallocated():
        with open("/tmp/preallocated", "wb") as file:
            return call(285 if X86 else 47, file.fileno(), 1, number(0), number(1 << 20))

    tried = {
        "fallocate": preallocated(),
        "preallocation by ioctl": reserved(0x40305828),
        "preallocation by ioctl, 64 bits": reserved(0x4030582A),
        "preallocation by ioctl, high bits set": reserved(HIGH | 0x4030582A),
        "io_uring": call(425, 4, room()),
        "Linux AIO": call(206 if X86 else 0, 4, room(8)),
        "AF_VSOCK": call(SOCKET, 40, 1, 0),
        "AF_VSOCK, high bits set": call(SOCKET, HIGH | 40, 1, 0),
        "AF_NETLINK": call(SOCKET, 16, 3, 0),
        "AF_PACKET": call(SOCKET, 17, 3, 0),
        "AF_ALG": call(SOCKET, 38, 5, 0),
        "AF_XDP": call(SOCKET, 44, 3, 0),
        "MPTCP": call(SOCKET, 2, 1, 262),
        "UDP-Lite": call(SOCKET, 10, 2, 136),
        "a ping socket": call(SOCKET, 2, 2, 1),
        "prlimit64 of another process": with_victim(lambda pid: call(prlimit64, pid, 7, limits, 0)),
        "ptrace of a child": with_victim(lambda pid: call(101 if X86 else 117, 16, pid, 0, 0)),
        "get_robust_list of another": with_victim(
            lambda pid: call(274 if X86 else 100, pid, room(), room())
        ),
        "a whiteout by mknodat": call(mknodat, -100, path(b"/tmp/whiteout"), whiteout, 0),
        "a whiteout by mknodat, high bits set": call(
            mknodat, -100, path(b"/tmp/whiteout2"), HIGH | whiteout, 0
        ),
        "a whiteout by renameat2": call(renameat2, -100, path(b"/tmp/a"), -100, path(b"/tmp/a2"), 4),
        "a whiteout by renameat2, high bits set": call(
            renameat2, -100, path(b"/tmp/b"), -100, path(b"/tmp/b2"), HIGH | 4
        ),
        "TIOCSTI": pushed_input(0),
        "TIOCSTI, high bits set": pushed_input(HIGH),
        "TIOCSETD": line_discipline(0),
        "TIOCSETD, high bits set": line_discipline(HIGH),
        "memfd_secret": call(447, 0),
        "vmsplice": vmsplice(),
        "remap_file_pages": call(216 if X86 else 234, 0, 0, 0, 0, 0),
        "adjtimex": call(159 if X86 else 171, room()),
        "clock_adjtime": call(305 if X86 else 266, 0, room()),
        "fanotify_mark": call(301 if X86 else 263, -1, 0, 0, 0, 0),
        "process_mrelease": call(448, -1, 0),
        "personality of 32 bits": call(personality, 8),
    }
    call(personality, 0)
    if X86:
        tried |= {
            "a whiteout by mknod": call(133, path(b"/tmp/whiteout3"), whiteout, 0),
            "modify_ldt": call(154, 0, room(), 16),
            "a 32-bit call": machine_code_32(20),
            "AF_VSOCK by the 32-bit socketcall": socketcall_32(40),
            "an x32 call": in_child(lambda: call(0x40000000 | 39)),
        }
    return tried


def namespaces():
    """Each kind of namespace, by clone; the child that should not be ends at once."""
    kinds = {
        "mount": 0x20000,
        "cgroup": 0x2000000,
        "uts": 0x4000000,
        "ipc": 0x8000000,
        "user": 0x10000000,
        "pid": 0x20000000,
        "net": 0x40000000,
        "user, high bits set": HIGH | 0x10000000,
    }

    def cloned(flags):
        result, failed = raw(CLONE, flags | signal.SIGCHLD, 0, 0, 0, 0)
        if result == 0:
            os._exit(0)
        if result > 0:
            os.waitpid(result, 0)
            return "ok"
        return errno.errorcode[failed]

    return {"none": cloned(0)} | {kind: cloned(flags) for kind, flags in kinds.items()}


CLOSED = {
    "_sysctl": (156, None),
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_settime": (227, 112),
    "clone3": (435, 435),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "uselib": (134, None),
    "vhangup": (153, 58),
}


def closed():
    """With arguments of 0, which do no harm where the call is open."""
    numbers = {name: pair[0 if X86 else 1] for name, pair in CLOSED.items()}
    return {name: call(nr, 0, 0, 0, 0, 0) for name, nr in numbers.items() if nr is not None}


def socket_families():
    """The families that any type of socket can be made of."""

    def made(family, kind):
        result, _ = raw(SOCKET, family, kind, 0)
        if result >= 0:
            os.close(result)
        return result >= 0

    kinds = (1, 2, 3, 5, 6, 10)
    return [family for family in range(64) if any([made(family, kind) for kind in kinds])]


def refused_terminal_requests():
    """Of the old requests of type T, those refused; on no descriptor, an open one answers EBADF."""
    answers = {
        low: {call(IOCTL, -1, high | low, 0) for high in (0, HIGH, 1 << 63)} for low in range(0x5400, 0x5500)
    }
    assert all(len(each) == 1 for each in answers.values()), "the bits above the 32nd change the answer"
    return [low for low, each in answers.items() if each == {"EPERM"}]


def refused_other_requests():
    """Every 16-bit request of another type, and those with a direction."""
    others = [low for low in range(0x10000) if low >> 8 not in (0x54, 0x58)]
    directed = [way << 30 | 0x45400 | low for way in (1, 2, 3) for low in range(0x100)]
    return [request for request in others + directed if call(IOCTL, -1, request, 0) != "EBADF"]


print(
    json.dumps(
        {
            "beyondTheDefault": beyond_the_default(),
            "namespaces": namespaces(),
            "closed": closed(),
            "socketFamilies": socket_families(),
            "refusedTerminalRequests": refused_terminal_requests(),
            "refusedOtherRequests": refused_other_requests(),
            "newest": [call(452, -100, 0, 0, 0), call(900)],
        }
    )
)
