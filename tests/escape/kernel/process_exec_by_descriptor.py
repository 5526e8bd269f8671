"""Become the program behind a descriptor, without a path. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("execveat", 0, b"", None, None, 0x1000)
