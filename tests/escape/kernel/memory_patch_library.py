"""Make the C library's own code writable. Seccomp refuses mprotect."""

# stopped: refused
# alone: seccomp
# control: works

address = ctypes.cast(libc.getpid, ctypes.c_void_p).value & ~4095
raw("mprotect", address, 4096, 7) == 0
