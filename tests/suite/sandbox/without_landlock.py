"""Runs a program on a kernel that says it has no Landlock: a filter answers `landlock_create_ruleset` with ENOSYS."""
import ctypes
import os
import struct
import sys

ENOSYS, CREATE_RULESET = 38, 444
steps = [
    (0x20, 0, 0, 0),  # load the number of the call
    (0x15, 0, 1, CREATE_RULESET),
    (0x06, 0, 0, 0x00050000 | ENOSYS),
    (0x06, 0, 0, 0x7FFF0000),
]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, program, 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[1], sys.argv[1:])
