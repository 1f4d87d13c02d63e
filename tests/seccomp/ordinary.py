"""Does what ordinary programs do, and prints for each of them "ok" or what went wrong."""

import asyncio
import concurrent.futures
import ctypes
import fcntl
import http.server
import json
import mmap
import multiprocessing
import multiprocessing.shared_memory
import os
import pty
import resource
import select
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import traceback
import zipfile

libc = ctypes.CDLL(None, use_errno=True)
results = {}


def check(name):
    def run(body):
        try:
            body()
            results[name] = "ok"
        except BaseException:
            results[name] = traceback.format_exc()
        os.chdir("/")

    return run


def output(*argv):
    ran = subprocess.run(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60
    )
    assert ran.returncode == 0, f"exit {ran.returncode}: {ran.stdout}"
    return ran.stdout


def shell(name, script):
    @check(name)
    def _():
        os.chdir(tempfile.mkdtemp())
        output("bash", "-euo", "pipefail", "-c", script)


def double(number):
    return number * 2


@check("python: threads and thread pools")
def _():
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(double, range(100))) == 9900
    seen = threading.Event()
    threading.Timer(0.01, seen.set).start()
    assert seen.wait(5)


@check("python: multiprocessing")
def _():
    with multiprocessing.get_context("fork").Pool(3) as pool:
        assert pool.map(double, range(10)) == [number * 2 for number in range(10)]
    queue = multiprocessing.Queue()
    child = multiprocessing.Process(target=queue.put, args=("hello",))
    child.start()
    assert queue.get(timeout=5) == "hello"
    child.join()
    shared = multiprocessing.shared_memory.SharedMemory(create=True, size=4096)
    shared.buf[0] = 7
    shared.close()
    shared.unlink()


@check("python: multiprocessing by spawn and forkserver")
def _():
    for method in ("spawn", "forkserver"):
        pool = f"multiprocessing.get_context('{method}').Pool(2)"
        program = f"import multiprocessing; print(sum({pool}.map(abs, [-1, -2])))"
        assert output(sys.executable, "-c", program) == "3\n"


@check("python: subprocesses, process groups, sessions")
def _():
    assert subprocess.check_output(["echo", "hello"]) == b"hello\n"
    sleeper = subprocess.Popen(["sleep", "60"], start_new_session=True)
    os.killpg(sleeper.pid, signal.SIGTERM)
    assert sleeper.wait() == -signal.SIGTERM
    spawned = os.posix_spawn("/bin/true", ["true"], {})
    assert os.waitpid(spawned, 0)[1] == 0
    assert os.system("exit 3") >> 8 == 3


@check("python: asyncio with a subprocess and a server")
def _():
    async def main():
        process = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
        out, _ = await process.communicate(b"hello")
        assert out == b"hello"

        async def answer(reader, writer):
            writer.write(await reader.readline())
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"ping\n")
        assert await reader.read() == b"ping\n"
        writer.close()
        server.close()
        assert await asyncio.to_thread(double, 4) == 8

    asyncio.run(main())


@check("python: sqlite with a write-ahead log")
def _():
    with tempfile.TemporaryDirectory() as folder:
        database = sqlite3.connect(f"{folder}/test.db")
        assert database.execute("pragma journal_mode = wal").fetchone() == ("wal",)
        database.execute("create table t (n)")
        database.executemany("insert into t values (?)", [(n,) for n in range(1000)])
        database.commit()
        assert database.execute("select sum(n) from t").fetchone() == (499500,)
        database.execute("vacuum")


@check("python: mmap, memfd, ctypes callbacks")
def _():
    memory = mmap.mmap(-1, 1 << 20)
    memory.madvise(mmap.MADV_DONTNEED)
    memory.resize(1 << 21)
    memory.flush()
    descriptor = os.memfd_create("x")
    os.write(descriptor, b"hello")
    assert mmap.mmap(descriptor, 5)[:] == b"hello"
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    numbers = (ctypes.c_int * 3)(3, 1, 2)
    libc.qsort(numbers, 3, 4, compare(lambda a, b: a[0] - b[0]))
    assert list(numbers) == [1, 2, 3]


@check("python: signals and interval timers")
def _():
    seen = []
    signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    while not seen:
        signal.pause()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    os.kill(os.getpid(), signal.SIGUSR1)
    assert signal.SIGUSR1 in signal.sigpending()
    assert signal.sigtimedwait({signal.SIGUSR1}, 1).si_pid == os.getpid()


@check("python: select, poll, epoll, eventfd, timerfd, inotify, pidfd")
def _():
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    os.write(writer, b"x")
    assert select.select([reader], [], [], 1)[0] == [reader]
    poll, epoll = select.poll(), select.epoll()
    for waiter in (poll, epoll):
        waiter.register(reader, select.POLLIN)
        assert waiter.poll(1)
    event = os.eventfd(0)
    os.eventfd_write(event, 3)
    assert os.eventfd_read(event) == 3
    timer = libc.timerfd_create(1, 0)
    assert libc.timerfd_settime(timer, 0, struct.pack("4q", 0, 0, 0, 1_000_000), None) == 0
    assert struct.unpack("Q", os.read(timer, 8))[0] == 1
    with tempfile.TemporaryDirectory() as folder:
        watcher = libc.inotify_init1(0)
        assert libc.inotify_add_watch(watcher, folder.encode(), 0x100) > 0
        open(f"{folder}/new", "w").close()
        assert b"new" in os.read(watcher, 4096)
        os.close(watcher)
    child = subprocess.Popen(["true"])
    assert select.select([os.pidfd_open(child.pid)], [], [], 5)[0]
    child.wait()


@check("python: its own limits, priority and processors")
def _():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
    resource.prlimit(0, resource.RLIMIT_CORE, (0, 0))
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    os.nice(0)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0


@check("python: terminals")
def _():
    master, terminal = os.openpty()
    termios.tcsetattr(terminal, termios.TCSANOW, termios.tcgetattr(terminal))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 40, 100, 0, 0))
    assert os.get_terminal_size(terminal) == (100, 40)
    child, master = pty.fork()
    if child == 0:
        os.execvp("bash", ["bash", "-c", "tty && stty size && echo controlling > /dev/tty"])
    said = b""
    try:
        while chunk := os.read(master, 1024):
            said += chunk
    except OSError:
        pass  # The way a terminal without a process left says that it is at its end.
    assert os.waitpid(child, 0)[1] == 0 and b"controlling" in said, said


@check("python: files of every kind")
def _():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("a", "w+b") as file:
            file.write(b"x" * 10000)
            os.posix_fallocate(file.fileno(), 0, 20000)
            os.fsync(file.fileno())
            fcntl.flock(file, fcntl.LOCK_EX)
            fcntl.lockf(file, fcntl.LOCK_EX)
        os.mkfifo("fifo")
        os.mknod("plain")
        os.link("a", "hard")
        os.symlink("a", "soft")
        os.rename("hard", "b")
        os.chmod("a", 0o600)
        os.utime("a", (1, 1))
        os.truncate("a", 9000)
        assert os.stat("soft").st_mtime_ns and os.statvfs(".").f_bsize
        assert len(list(os.scandir("."))) == 5
        with open("b", "rb") as source, open("c", "wb") as target:
            assert os.sendfile(target.fileno(), source.fileno(), 0, 5000) == 5000
            os.copy_file_range(source.fileno(), target.fileno(), 100)
        with tempfile.TemporaryFile() as unnamed:
            unnamed.write(b"x")
            os.set_inheritable(unnamed.fileno(), True)


@check("python: sockets of the loopback and of the file system")
def _():
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_UNIX, "")):
        with socket.socket(family) as server:
            server.bind((address, 0) if address else "\0abstract")
            server.listen()
            with socket.socket(family) as client:
                client.settimeout(5)
                client.connect(server.getsockname())
                accepted, _ = server.accept()
                client.sendall(b"hello")
                assert accepted.recv(10) == b"hello"
                accepted.close()
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP):
        pass
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("127.0.0.1", 0))
        datagrams.sendto(b"hello", datagrams.getsockname())
        assert datagrams.recv(10) == b"hello"
    left, right = socket.socketpair()
    reader, writer = os.pipe()
    socket.send_fds(left, [b"x"], [writer])
    _, (passed,), _, _ = socket.recv_fds(right, 1, 1)
    os.write(passed, b"y")
    assert os.read(reader, 1) == b"y"


@check("python: names are looked up")
def _():
    assert "127.0.0.1" in {found[4][0] for found in socket.getaddrinfo("localhost", 80)}
    socket.getfqdn()
    began = time.monotonic()
    try:
        socket.getaddrinfo("nowhere.invalid", 80)
        raise AssertionError("found")
    except socket.gaierror:
        assert time.monotonic() - began < 5


@check("pip: a local wheel, in a virtual environment too")
def _():
    wheel = "/tmp/greeting-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("greeting.py", "text = 'hello'\n")
        about = "greeting-1.0.dist-info"
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-cache-dir", "--no-compile"]
    output(*pip, "--user", wheel)
    assert output(sys.executable, "-c", "import greeting; print(greeting.text)") == "hello\n"
    output(sys.executable, "-m", "venv", "--without-pip", "/tmp/venv")
    output("/tmp/venv/bin/python", "-c", "import ssl, lzma, bz2, uuid; uuid.uuid4()")


@check("curl: from a server on 127.0.0.1 and on localhost")
def _():
    os.makedirs("/tmp/served", exist_ok=True)
    with open("/tmp/served/file", "wb") as file:
        file.write(os.urandom(1 << 20))

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = lambda *args: Quiet(*args, directory="/tmp/served")  # noqa: E731
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for host in ("127.0.0.1", "localhost"):
            url = f"http://{host}:{server.server_port}/file"
            assert len(subprocess.check_output(["curl", "-sSf", url])) == 1 << 20
        server.shutdown()


shell(
    "bash: pipes, jobs, traps, process substitution",
    """
    trap 'true' EXIT USR1; kill -USR1 $$
    [ "$(seq 1000 | sort -rn | head -1 || true)" = 1000 ]
    diff <(echo a) <(echo a)
    sleep 60 & kill %1; wait %1 || [ $? = 143 ]
    coproc cat; echo hi >&"${COPROC[1]}"; read -r line <&"${COPROC[0]}"; [ "$line" = hi ]
    ulimit -n 256; umask 077; read -r word < <(echo word); [[ $word =~ ^w ]]
    timeout 5 true; nice -n 5 true; nohup setsid true 2>/dev/null
    (set -m; sleep 0.01 & wait)
    [ "$(timeout -s KILL 0.05 sleep 5; echo $?)" = 137 ]
    """,
)
shell(
    "git: init, commit, branch, clone",
    """
    git config --global user.name someone; git config --global user.email someone@example.org
    git init -q -b main one; cd one; echo hello > file; git add .; git commit -qm first
    git switch -qc side; echo more >> file; git commit -qam second; git switch -q main; git merge -q side
    git gc -q; cd ..; git clone -q one two; git clone -q "file://$PWD/one" three
    [ "$(git -C three log --oneline | wc -l)" = 2 ]; git -C two status --porcelain; git -C two fsck
    """,
)
shell(
    "jq, awk, sed, grep, find, xargs, sort",
    """
    [ "$(echo '{"a":[1,2]}' | jq -c '.a|add')" = 3 ]
    [ "$(seq 10 | awk '{s+=$1} END {print s}')" = 55 ]
    mkdir -p d/e; touch d/e/{1..50}
    [ "$(find d -type f -newermt 2000-01-01 -print0 | xargs -0 -P4 -n5 ls | wc -l)" = 50 ]
    seq 200000 | sort --parallel=2 -S 1M -R | sort -n | tail -1 | grep -qx 200000
    find d -name 1 -exec sed -i 's/a/b/' {} +; find d -delete
    """,
)
shell(
    "tar, gzip, coreutils",
    """
    head -c 2000000 /dev/urandom > file; mkfifo pipe; ln -s file link; ln file hard
    tar czf all.tgz file link hard; mkdir out; tar xzf all.tgz -C out; cmp file out/file; rm pipe
    cp -a out copy; cp --reflink=auto --sparse=always file sparse; mv -n copy moved; install -m 755 file bin
    dd if=file of=part bs=4096 count=10 conv=fsync status=none; truncate -s 1G big; fallocate -x -l 1M space
    sha256sum file > sums; sha256sum -c --quiet sums; split -n 4 file; cat xa? | cmp - file; shred -u part
    stat file; df .; du -sh .; date; sync; nproc; id; touch -d 2001-01-01 file; realpath link; ls -laR
    touch followed; (sleep 0.1; echo more >> followed) & [ "$(tail -f -s 0.1 --pid=$! followed)" = more ]
    tee a b < file > c; cmp a c; seq 100000 | wc -l
    """,
)
shell(
    "gcc: a program with threads, where there is a compiler",
    """
    command -v gcc > /dev/null || exit 0
    cat > t.c <<'C'
    #include <threads.h>
    int f(void *p) { return 3; }
    int main(void) { thrd_t t; int r; thrd_create(&t, f, 0); thrd_join(t, &r); return r != 3; }
C
    gcc t.c -o t -pthread; ./t
    """,
)

print(json.dumps(results))
