"""Load a filter that allows everything, with prctl. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("prctl", 22, 2, 0, 0, 0) == 0
