"""Set the clock. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("clock_settime", 0, None) == 0
