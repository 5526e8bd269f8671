"""Read directory entries from the one descriptor there is. Seccomp refuses getdents64."""

# stopped: refused
# alone: seccomp

raw("getdents64", 0, ctypes.create_string_buffer(4096), 4096) > 0
