//! How much memory a program and all that it starts may hold together, in all the ways that there are to hold some.

use systole_sandbox::SandboxLevel;

use super::{Scene, everywhere};

/// What every script begins with. The sandbox has 128 MiB. Pages that are read-only after they were written are bounded by
/// no limit of a single process.
const HEAD: &str = "import ctypes, mmap, os, signal, struct, subprocess, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def hold(size):
    held = []
    for _ in range(0, size, 10):
        memory = mmap.mmap(-1, 10 << 20, mmap.MAP_PRIVATE)
        for page in range(0, len(memory), 4096):
            memory[page] = 1
        at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        assert libc.mprotect(ctypes.c_void_p(at), ctypes.c_size_t(10 << 20), mmap.PROT_READ) == 0
        held.append(memory)
    return held
";

/// Memory that no limit of a single process bounds.
const HOARDS: [(&str, &str); 6] = [
    ("in one process", "held = hold(200)\nsignal.pause()"),
    ("in several processes", "children = [os.fork() for _ in range(2)]\nheld = hold(60)\nsignal.pause()"),
    // A process whose memory others of its user may not look at.
    ("behind a closed door", "libc.prctl(4, 0)\nheld = hold(200)\nsignal.pause()"),
    // The first thread ends, and its numbers with it.
    (
        "in another thread",
        "begin = threading.Event()\ndef work():\n    begin.wait()\n    held = hold(200)\n    signal.pause()\n\
         threading.Thread(target=work).start()\nbegin.set()\nlibc.syscall(60, 0)",
    ),
    // Each child shows the mark of its parent's memory for a moment.
    (
        "beside children that start programs",
        "def start():\n    while True:\n        os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)\n\
         for _ in range(4):\n    threading.Thread(target=start).start()\nheld = hold(200)\nsignal.pause()",
    ),
    // Threads that seem to wait for a child of `vfork`, and wait for an answer to their call. There is no child.
    (
        "behind a child that does not exist",
        "LOAD, IF_EQUAL, RETURN, CLONE, ALLOW, ASK = 0x20, 0x15, 0x06, 56, 0x7fff0000, 0x7fc00000
steps = [(LOAD, 0, 0, 0), (IF_EQUAL, 0, 1, CLONE), (RETURN, 0, 0, ASK), (RETURN, 0, 0, ALLOW)]
steps = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', 4, ctypes.addressof(steps)))
def wait():
    # A filter of this thread that returns a file to answer calls with.
    assert libc.syscall(317, 1, 8, program) >= 0, os.strerror(ctypes.get_errno())
    libc.syscall(CLONE, 0x4100 | signal.SIGCHLD, 0, 0, 0, 0)
thread = threading.Thread(target=wait)
thread.start()
while not open(f'/proc/self/task/{thread.native_id}/syscall').read().startswith(f'{CLONE} '):
    time.sleep(0.01)
held = hold(200)
signal.pause()",
    ),
];
/// The same where a program has namespaces of its own.
const HOARDS_AT_FULL: [(&str, &str); 2] = [
    (
        "an object of System V",
        "shm = libc.shmget(0, 200 << 20, 0o1600)\nlibc.shmat.restype = ctypes.c_void_p\nat = libc.shmat(shm, None, 0)\n\
         ctypes.memset(at, 1, 200 << 20)\nlibc.shmdt(ctypes.c_void_p(at))\nsignal.pause()",
    ),
    (
        "files of its own folder",
        "open(os.environ['TMPDIR'] + '/x', 'wb').write(b'x' * (70 << 20))\nheld = hold(70)\nsignal.pause()",
    ),
];

fn scene_ends(level: SandboxLevel, mut scene: Scene, (what, script): (&str, &str)) {
    scene.policy.memory_bytes = 128 << 20;
    scene.policy.output_bytes = 1 << 30;
    let ran = scene.run(level, &[&scene.python(), "-c", &format!("{HEAD}{script}")]);
    let words = "sandbox: more than 128 MiB of memory together; all were ended";
    assert!(ran.code.is_none() && ran.stderr.contains(words), "{what}, {}: {ran:?}", level.as_str());
}

#[test]
fn g2_memory_bounds_what_a_program_and_all_it_starts_hold_together() {
    // The helper of the superuser may look at more.
    let ordinary = || everywhere().collect::<Vec<_>>().into_iter().rev().take(2);
    for hoard in HOARDS {
        ordinary().for_each(|(level, scene)| scene_ends(level, scene, hoard));
    }
    for hoard in HOARDS_AT_FULL {
        let full = ordinary().filter(|(level, _)| *level == SandboxLevel::Full);
        full.for_each(|(level, scene)| scene_ends(level, scene, hoard));
    }
}

#[test]
fn g2_memory_that_processes_share_counts_once() {
    // A child has the memory of its parent until it becomes a program, which here takes until a pipe is opened. Then eight
    // children have it that become none.
    let script = "pipe = os.environ['TMPDIR'] + '/pipe'
os.mkfifo(pipe)
begin, begins = os.pipe()
def child(work):
    number = os.fork()
    if not number:
        work()
        os._exit(0)
    return number
def opens():
    os.read(begin, 1)
    time.sleep(0.3)
    os.open(pipe, os.O_WRONLY)
child(opens)
held = hold(100)
os.write(begins, b'x')
os.posix_spawn('/bin/true', ['true'], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, pipe, os.O_RDONLY, 0)])
children = [child(signal.pause) for _ in range(8)]
time.sleep(0.2)
for child in children:
    os.kill(child, signal.SIGKILL)
print('all')";
    for (level, mut scene) in everywhere() {
        scene.policy.memory_bytes = 160 << 20;
        let ran = scene.run(level, &[&scene.python(), "-c", &format!("{HEAD}{script}")]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "all\n"), "{}: {ran:?}", level.as_str());
    }
}

#[test]
fn g2_a_program_that_starts_many_programs_is_not_taken_for_one_that_holds_too_much() {
    // A child of this kind has the memory of its parent, and is gone a moment later.
    let script = "held = hold(100)
end = time.monotonic() + 4
def start():
    while time.monotonic() < end:
        os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)
threads = [threading.Thread(target=start) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print('all')";
    for (level, mut scene) in everywhere() {
        scene.policy.memory_bytes = 160 << 20;
        let ran = scene.run(level, &[&scene.python(), "-c", &format!("{HEAD}{script}")]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "all\n"), "{}: {ran:?}", level.as_str());
    }
}
