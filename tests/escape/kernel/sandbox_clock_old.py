"""Set the clock with the old call. Seccomp kills it."""

# stopped: killed
# alone: identity seccomp

raw("settimeofday", None, None) == 0
