"""Send a signal with tkill, its elder. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("tkill", 1, 0) == 0
