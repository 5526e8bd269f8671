"""Ask the channel for the process and user of the host. Seccomp refuses getsockopt."""

# stopped: refused
# alone: seccomp

size = ctypes.byref(ctypes.c_int(12))
raw("getsockopt", 0, 1, 17, ctypes.create_string_buffer(12), size) == 0
