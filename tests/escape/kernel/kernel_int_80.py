"""Enter the kernel as a 32-bit program would, where every number means another call.

No code can be added, so it jumps to the two bytes of `int 0x80` that lie in a library by chance.
How many floats are passed is what the register with the number holds: two of them fork. Seccomp
kills a foreign architecture.
"""

# stopped: killed
# alone: seccomp
# only: x86_64

import struct


class Link(ctypes.Structure):
    pass


Link._fields_ = (
    ("base", ctypes.c_size_t),
    ("name", ctypes.c_char_p),
    ("dynamic", ctypes.c_void_p),
    ("next", ctypes.POINTER(Link)),
)


def executable_parts(base):
    if base == 0 or ctypes.string_at(base, 4) != b"\x7fELF":
        return
    header = ctypes.string_at(base, 64)
    table, size, count = struct.unpack_from("<Q14xHH", header, 32)
    for number in range(count):
        kind, flags, _, address, _, _, length = struct.unpack_from(
            "<IIQQQQQ", ctypes.string_at(base + table + number * size, 56)
        )
        if kind == 1 and flags & 1:
            yield base + address, length


def find_entry():
    link = ctypes.cast(ctypes.c_void_p(libc._handle), ctypes.POINTER(Link))
    while link:
        for start, length in executable_parts(link.contents.base):
            offset = ctypes.string_at(start, length).find(b"\xcd\x80")
            if offset >= 0:
                return start + offset
        link = link.contents.next
    return None


entry = find_entry()
if entry is None:
    raise LookupError("no entry was found")
child = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, ctypes.c_double)(entry)(0.0, 0.0)
if child == 0:
    os._exit(0)
child
