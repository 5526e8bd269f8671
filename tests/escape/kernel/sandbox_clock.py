"""Set the clock. Seccomp kills it."""

# stopped: killed

raw("clock_settime", 0, None) == 0
