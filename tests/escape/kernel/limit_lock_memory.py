"""Pin memory, so that it cannot be swapped out. Seccomp refuses mlock."""

# stopped: refused
# alone: seccomp rlimits

raw("mlock", ctypes.addressof(ctypes.create_string_buffer(4096)), 4096) == 0
