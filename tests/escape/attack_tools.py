"""Put in front of every attack in `kernel/`: a system call by its name, past everything in between.

Sent as source, so it may use only what the attack may. `NUMBERS` comes before it, from the test.
"""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def raw(call, *arguments):
    """Make a system call, by its name or its number; OSError with the error of the kernel."""
    number = NUMBERS.get(call, call)
    wide = [ctypes.c_long(item) if isinstance(item, int) else item for item in arguments]
    result = libc.syscall(ctypes.c_long(number), *wide)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, f"{call}: {os.strerror(code)}")
    return result
