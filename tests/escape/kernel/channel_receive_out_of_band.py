"""Ask for an urgent byte, the other half of that feature. Seccomp refuses recvfrom."""

# stopped: refused
# alone: seccomp

try:
    raw("recvfrom", 0, ctypes.create_string_buffer(1), 1, 0x41, None, None)
except PermissionError:
    raise
except OSError:
    reached = True
reached
