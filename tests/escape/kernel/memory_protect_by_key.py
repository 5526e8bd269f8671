"""Make memory executable with pkey_mprotect. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

import mmap

page = mmap.mmap(-1, 4096)
raw("pkey_mprotect", ctypes.addressof(ctypes.c_char.from_buffer(page)), 4096, 5, -1) == 0
