"""Write over the C library's own code where it lies. Its pages are read-only; the process dies."""

# stopped: lost
# alone: none

ctypes.memset(ctypes.cast(libc.getpid, ctypes.c_void_p).value, 0x90, 1)
"patched"
