"""Tries whatever could give a sandboxed program more than it has, and harm to its first process. Prints what worked."""

import ctypes
import errno
import json
import os
import resource
import signal
import stat
import subprocess

libc = ctypes.CDLL(None, use_errno=True)
machine = os.uname().machine
NUMBERS = {
    "x86_64": {
        "pivot_root": 155, "init_module": 175, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250,
        "perf_event_open": 298, "finit_module": 313, "bpf": 321, "userfaultfd": 323, "open_tree": 428, "fsopen": 430,
        "fsmount": 432, "pidfd_getfd": 438, "mount_setattr": 442, "rt_sigqueueinfo": 129, "pidfd_send_signal": 424,
    },
    "aarch64": {
        "pivot_root": 41, "init_module": 105, "kexec_load": 104, "add_key": 217, "request_key": 218, "keyctl": 219,
        "perf_event_open": 241, "finit_module": 273, "bpf": 280, "userfaultfd": 282, "open_tree": 428, "fsopen": 430,
        "fsmount": 432, "pidfd_getfd": 438, "mount_setattr": 442, "rt_sigqueueinfo": 138, "pidfd_send_signal": 424,
    },
}[machine]  # fmt: skip
worked = []


def attempt(name, function):
    """Notes it when a python call does not raise."""
    try:
        function()
        worked.append(name)
    except (OSError, ValueError, subprocess.SubprocessError):
        pass


def call(name, function, *arguments):
    """Notes it when a C call does not fail."""
    if function(*arguments) >= 0:
        worked.append(name)


def raw(name, *arguments):
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    call(name, libc.syscall, ctypes.c_long(NUMBERS[name]), *words)


# Files that give the rights of another user.
for root, _, names in os.walk("/"):
    if root.startswith(("/proc", "/sys")):
        continue
    for name in names:
        status = os.lstat(os.path.join(root, name))
        if stat.S_ISREG(status.st_mode) and status.st_mode & (stat.S_ISUID | stat.S_ISGID):
            worked.append("setuid file " + os.path.join(root, name))
for folder in ("/tmp", "/workspace/work", "/workspace/artifacts", "/home/sandbox", "/dev/shm"):
    planted = folder + "/planted"
    with open("/usr/bin/id", "rb") as source, open(planted, "wb") as copy:
        copy.write(source.read())
    os.chmod(planted, 0o6755)
    try:
        said = subprocess.run([planted, "-u"], capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        said = ""  # not executable there
    if said not in ("", "1000"):
        worked.append("planted setuid file in " + folder)
    os.unlink(planted)
for program in ("su", "sudo", "mount", "umount", "newgrp", "passwd", "pkexec", "unshare", "nsenter", "chroot"):
    arguments = {"su": ["-c", "true"], "unshare": ["-Ur", "true"], "mount": ["-t", "tmpfs", "none", "/tmp"],
                 "umount": ["/tmp"], "nsenter": ["-t", "1", "-m", "true"], "chroot": ["/", "true"]}  # fmt: skip
    attempt(
        program,
        lambda program=program: subprocess.run(
            [program, *arguments.get(program, ["true"])], check=True, capture_output=True, stdin=subprocess.DEVNULL
        ),
    )
for name, change in {"setuid": os.setuid, "setgid": os.setgid, "seteuid": os.seteuid}.items():
    attempt(name, lambda change=change: change(0))
attempt("setgroups", lambda: os.setgroups([0]))

# The kernel's ways to another view of the world.
call("mount", libc.mount, b"none", b"/tmp", b"tmpfs", 0, None)
call("bind mount", libc.mount, b"/workspace/work", b"/workspace/inputs", None, 4096, None)
call("remount", libc.mount, b"none", b"/workspace/inputs", None, 32, None)
call("umount", libc.umount2, b"/workspace/inputs", 2)
call("chroot", libc.chroot, b"/tmp")
flags = {"user": 0x10000000, "mount": 0x20000, "pid": 0x20000000, "net": 0x40000000, "ipc": 0x08000000,
         "uts": 0x04000000, "cgroup": 0x02000000, "time": 0x80}  # fmt: skip
for name, flag in flags.items():
    call("unshare " + name, libc.unshare, flag)
for name in os.listdir("/proc/self/ns"):
    attempt("setns " + name, lambda name=name: call("setns", libc.setns, os.open("/proc/1/ns/" + name, os.O_RDONLY), 0))
for kind, device in ((stat.S_IFBLK, os.makedev(252, 0)), (stat.S_IFCHR, os.makedev(1, 1)), (stat.S_IFCHR, 0)):
    for folder in ("/tmp", "/workspace/work", "/workspace/artifacts", "/dev/shm"):
        attempt("mknod in " + folder, lambda kind=kind, device=device, folder=folder: os.mknod(folder + "/d", kind, device))
buffer = ctypes.create_string_buffer(256)
for name in ("pivot_root", "init_module", "finit_module", "kexec_load", "open_tree", "fsopen", "fsmount", "mount_setattr"):
    raw(name, 0, 0, 0, 0, 0)
raw("bpf", 0, buffer, 128)
raw("bpf", 5, buffer, 128)
raw("perf_event_open", buffer, 0, -1, -1, 0)
raw("userfaultfd", 0)
for operation in range(0, 32):
    raw("keyctl", operation, -3, 0, 0, 0)
raw("add_key", b"user", b"name", b"x", 1, -3)
raw("request_key", b"user", b"name", b"", -3)

# The first process: whatever arrives there is dropped, whatever would be learnt is refused.
pidfd = os.pidfd_open(1)
for number in range(1, 65):
    for _ in range(2):
        try:
            os.kill(1, number)
            libc.syscall(NUMBERS["pidfd_send_signal"], pidfd, number, None, 0)
        except OSError:
            pass
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206
call("ptrace attach", libc.ptrace, PTRACE_ATTACH, 1, None, None)
call("ptrace seize", libc.ptrace, PTRACE_SEIZE, 1, None, None)
here = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 64)
there = (ctypes.c_void_p * 2)(0x400000, 64)
call("process_vm_readv", libc.process_vm_readv, 1, here, 1, there, 1, 0)
call("process_vm_writev", libc.process_vm_writev, 1, here, 1, there, 1, 0)
for descriptor in range(8):
    raw("pidfd_getfd", pidfd, descriptor, 0)
for limit in range(16):
    attempt("prlimit", lambda limit=limit: resource.prlimit(1, limit, (0, 0)))
    attempt("prlimit, read", lambda limit=limit: resource.prlimit(1, limit))
attempt("setpriority", lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
attempt("sched_setaffinity", lambda: os.sched_setaffinity(1, [0]))
for name in ("mem", "environ", "maps", "smaps", "auxv", "io", "pagemap", "stack", "syscall"):
    attempt("read /proc/1/" + name, lambda name=name: open("/proc/1/" + name, "rb").read(1))
for name in ("fd", "fdinfo", "map_files", "root", "cwd"):
    attempt("list /proc/1/" + name, lambda name=name: os.listdir("/proc/1/" + name + "/"))
for name in ("exe", "root", "cwd"):
    attempt("readlink /proc/1/" + name, lambda name=name: os.readlink("/proc/1/" + name))
for descriptor in range(8):
    for mode in (os.O_RDONLY, os.O_WRONLY):
        attempt("open /proc/1/fd", lambda descriptor=descriptor, mode=mode: os.open("/proc/1/fd/%d" % descriptor, mode))
for root, _, names in os.walk("/proc/1"):
    for path in (os.path.join(root, name) for name in names):
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            continue
        attempt("write " + path, lambda descriptor=descriptor: os.write(descriptor, b"0"))
        os.close(descriptor)

print(json.dumps({"worked": sorted(set(worked)), "ids": [os.getresuid(), os.getresgid()]}), flush=True)
# Only a first process that is alive and well tells this code.
os._exit(7)
