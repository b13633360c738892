"""Tries to get out of a sandbox. Arguments: a folder outside with files `planted` and `own`, a process outside, a
folder in which it may write (or -), and the ways to try. Prints `WAY done` or `WAY refused ERRNO` for each.

Every way is harmless where it succeeds: the files and the process belong to the test."""
import ctypes
import errno
import fcntl
import mmap
import os
import signal
import socket
import struct
import subprocess
import sys

outside, process, writable = sys.argv[1], int(sys.argv[2]), sys.argv[3]
planted, own = outside + "/planted", os.environ.get("TMPDIR", "/tmp") + "/attack"
libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWUSER, CLONE_NEWNET, SIGCHLD = 0x10000000, 0x40000000, 17


def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if result == -1:
        raise OSError(ctypes.get_errno(), "")
    return result


def write(path, text="x"):
    with open(path, "w") as file:
        file.write(text)


def a_socket(family, kind, protocol=0):
    socket.socket(family, kind, protocol).close()


def a_link_out():
    """A link in a folder of its own leads outside."""
    os.symlink(planted, own + ".link")
    with open(own + ".link") as file:
        file.read()


def clone_user():
    child = call(56, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def setid(make):
    make()
    mode = os.stat(own + ".setid").st_mode
    if not mode & 0o6000:
        raise OSError(errno.EPERM, "")


def made_setid():
    os.umask(0)
    os.close(os.open(own + ".setid", os.O_CREAT | os.O_WRONLY, 0o4755))


def chmod_setid():
    write(own + ".setid")
    os.chmod(own + ".setid", 0o2755)


def other_memory():
    with open(f"/proc/{process}/mem", "r+b"):
        pass


def guardian_memory():
    with open("/proc/1/mem", "r+b"):
        pass


def by_clone3():
    arguments = struct.pack("QQQQQQQQ", CLONE_NEWUSER, 0, 0, 0, SIGCHLD, 0, 0, 0)
    child = call(435, ctypes.c_char_p(arguments), len(arguments))
    if child == 0:
        os._exit(0)


def a_session():
    if os.fork() == 0:
        try:
            os.setsid()
            os._exit(0)
        except OSError as error:
            os._exit(error.errno)
    status = os.waitstatus_to_exitcode(os.wait()[1])
    if status:
        raise OSError(status, "")


def by_handle():
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 136)
    call(303, -100, ctypes.c_char_p(planted.encode()), handle, ctypes.byref(ctypes.c_int()), 0)


def race():
    """A link that leads outside every other moment never shows what is there."""
    import threading
    mine, link, over, flips = own + ".mine", own + ".flip", False, [0]
    write(mine, "mine")

    def flip():
        while not over:
            for target in (mine, planted):
                os.symlink(target, link + ".new")
                os.rename(link + ".new", link)
                flips[0] += 1
    os.symlink(mine, link)
    thread = threading.Thread(target=flip)
    thread.start()
    found = refused = 0
    try:
        # On a busy machine the other thread begins late.
        for _ in range(200_000):
            try:
                with open(link) as file:
                    if file.read() != "mine":
                        found += 1
            except OSError:
                refused += 1
            if found or flips[0] > 10_000:
                break
    finally:
        over = True
        thread.join()
    if not found:
        raise OSError(errno.EACCES, "")


def limit(other):
    """Asks for the limits of another process, which needs the same right as changing them."""
    call(302, other, 7, None, ctypes.create_string_buffer(16))


def shared():
    call(31, call(29, 0, 4096, 0o1600), 0, None)


def affinity(process):
    os.sched_setaffinity(process, os.sched_getaffinity(process))


def own_priority():
    os.nice(1)
    affinity(0)
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def policy_of_sandbox():
    """What the sandbox keeps outside is in no command line."""
    for number in filter(str.isdigit, os.listdir("/proc")):
        with open(f"/proc/{number}/cmdline", "rb") as file:
            if b"keep_out" in file.read():
                return
    raise OSError(errno.EACCES, "")


def splice_memory():
    ends, page = os.pipe(), ctypes.create_string_buffer(4096)
    vector = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(page), 4096))
    call(278, ends[1], vector, 1, 0)


def page_out():
    mmap.mmap(-1, 4096, mmap.MAP_PRIVATE).madvise(21)


def shared_pages(kind):
    mmap.mmap(-1, 4096, kind | mmap.MAP_ANONYMOUS)


def shared_zeros():
    with open("/dev/zero", "r+b", buffering=0) as file:
        mmap.mmap(file.fileno(), 4096)


def shared_file():
    with open(own, "wb+") as file:
        file.truncate(4096)
        mmap.mmap(file.fileno(), 4096)


def memory():
    bytearray(3 << 30)


def big_file():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with open(own + ".big", "wb") as file:
        file.seek(2 << 20)
        file.write(b"x")


def tty_input():
    fcntl.ioctl(0, 0x5412, b"x")


WAYS = {
    "read": lambda: open(planted).read(),
    "list": lambda: os.listdir(outside),
    "see": lambda: os.stat(planted),
    "write": lambda: write(outside + "/made"),
    "append": lambda: open(planted, "a").close(),
    "mkdir": lambda: os.mkdir(outside + "/folder"),
    "unlink": lambda: os.unlink(outside + "/own"),
    "rename": lambda: os.rename(outside + "/own", outside + "/other"),
    "hard-link": lambda: os.link(planted, own + ".hard"),
    "link-out": a_link_out,
    "race": race,
    "truncate": lambda: os.truncate(planted, 0),
    "chmod": lambda: os.chmod(planted, 0o640),
    "chown": lambda: os.chown(planted, os.getuid(), os.getgid()),
    "utime": lambda: os.utime(planted, (1, 1)),
    "xattr": lambda: os.setxattr(planted, "user.x", b"x"),
    "tcp": lambda: a_socket(socket.AF_INET, socket.SOCK_STREAM),
    "tcp6": lambda: a_socket(socket.AF_INET6, socket.SOCK_STREAM),
    "udp": lambda: a_socket(socket.AF_INET, socket.SOCK_DGRAM),
    "raw": lambda: a_socket(socket.AF_INET, socket.SOCK_RAW, 1),
    "unix": lambda: a_socket(socket.AF_UNIX, socket.SOCK_STREAM),
    "netlink": lambda: a_socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "datagram-pair": lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM),
    "io-uring": lambda: call(425, 8, ctypes.create_string_buffer(120)),
    "ptrace": lambda: call(101, 16, process, 0, 0),
    "memory-of-others": other_memory,
    "write-others": lambda: call(311, process, None, 0, None, 0, 0),
    "file-of-others": lambda: call(438, call(434, process, 0), 0, 0),
    "environment-of-others": lambda: open(f"/proc/{process}/environ").read(),
    "kill": lambda: os.kill(process, 0),
    # A signal that means nothing to a process that does not ask for it. The call reports success even if it
    # reached no process, so the test looks at one.
    "kill-all": lambda: os.kill(-1, signal.SIGURG),
    "limits-of-others": lambda: limit(process),
    "priority-of-others": lambda: os.setpriority(os.PRIO_PROCESS, process, 19),
    "policy-of-others": lambda: os.sched_setscheduler(process, os.SCHED_IDLE, os.sched_param(0)),
    "processors-of-others": lambda: affinity(process),
    "io-of-others": lambda: call(251, 1, process, 3 << 13),
    # The process that reports the end is in the group.
    "priority-of-group": lambda: os.setpriority(os.PRIO_PGRP, 0, 19),
    "limits-of-guardian": lambda: limit(1),
    "processors-of-guardian": lambda: affinity(1),
    "policy-of-sandbox": policy_of_sandbox,
    "memfd": lambda: os.close(os.memfd_create("x")),
    "vmsplice": splice_memory,
    "page-out": page_out,
    "shared-pages": lambda: shared_pages(mmap.MAP_SHARED),
    # The kernel has no such pages of this kind, with another error.
    "shared-validated-pages": lambda: shared_pages(3),
    "shared-zeros": shared_zeros,
    "unshare": lambda: call(272, CLONE_NEWUSER),
    "clone": clone_user,
    "clone3": by_clone3,
    "setns": lambda: call(308, 0, CLONE_NEWNET),
    "mount": lambda: call(165, None, ctypes.c_char_p(b"/"), None, 0x44000, None),
    "chroot": lambda: os.chroot("/"),
    "tty-input": tty_input,
    "bpf": lambda: call(321, 5, ctypes.create_string_buffer(128), 128),
    "keys": lambda: call(250, 0, -3, 1),
    "personality": lambda: call(135, 0xFFFFFFFF),
    "handle": by_handle,
    "x32": lambda: call(0x40000000 | 39),
    "chmod-setid": lambda: setid(chmod_setid),
    "make-setid": lambda: setid(made_setid),
    "device": lambda: os.mknod(own + ".dev", 0o020600, os.makedev(1, 3)),
    "setting": lambda: open("/proc/sys/kernel/core_pattern", "a").close(),
    "system": lambda: write("/usr/systole-attack"),
    "guardian": guardian_memory,
    "terminal": lambda: open("/dev/tty").close(),
    "session": a_session,
    "shared-memory": shared,
    "memory": memory,
    "big-file": big_file,
    # What must work.
    "own-file": lambda: write(own),
    "writable": lambda: write(writable + "/made"),
    "pair": lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM),
    "own-priority": own_priority,
    "private-pages": lambda: mmap.mmap(-1, 4096, mmap.MAP_PRIVATE),
    "shared-file": shared_file,
    "child": lambda: subprocess.run(["true"], check=True),
}

for way in sys.argv[4:]:
    try:
        WAYS[way]()
        print(way, "done", flush=True)
    except OSError as error:
        print(way, "refused", errno.errorcode.get(error.errno, error.errno), flush=True)
    except MemoryError:
        print(way, "refused ENOMEM", flush=True)
