"""Read the kernel's log, with its addresses. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("syslog", 3, ctypes.create_string_buffer(64), 64) >= 0
