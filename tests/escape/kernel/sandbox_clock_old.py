"""Set the clock with the old call. Seccomp kills it."""

# stopped: killed

raw("settimeofday", None, None) == 0
