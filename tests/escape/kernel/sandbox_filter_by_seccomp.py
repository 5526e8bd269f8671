"""Load a filter that hands decisions to ourselves. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("seccomp", 1, 8, None) >= 0
