"""Make a TCP socket with a bare call. Seccomp kills it."""

# stopped: killed
# alone: seccomp rlimits

raw("socket", 2, 1, 0) >= 0
