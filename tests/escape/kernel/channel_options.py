"""Change the channel's buffers. Seccomp refuses setsockopt."""

# stopped: refused
# alone: seccomp

raw("setsockopt", 0, 1, 7, ctypes.byref(ctypes.c_int(1 << 30)), 4) == 0
