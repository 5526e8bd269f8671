"""Overwrite the C library's own code. Its pages are read-only; the process is killed."""

# stopped: lost
# alone: none

ctypes.memset(ctypes.cast(libc.getpid, ctypes.c_void_p).value, 0x90, 1)
"patched"
