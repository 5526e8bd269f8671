"""Make the clock drift. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

raw("adjtimex", ctypes.create_string_buffer(208)) >= 0
