"""Make a file in memory with a bare call. Seccomp kills it."""

# stopped: killed
# alone: seccomp rlimits

raw("memfd_create", b"program", 0) >= 0
