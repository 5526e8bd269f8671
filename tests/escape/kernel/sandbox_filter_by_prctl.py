"""Load a filter that allows everything, with prctl. Seccomp kills it."""

# stopped: killed

raw("prctl", 22, 2, 0, 0, 0) == 0
