"""Attach shared memory as executable. Seccomp refuses it."""

# stopped: refused
# alone: none

raw("shmat", 0, None, 0o100000) > 0
