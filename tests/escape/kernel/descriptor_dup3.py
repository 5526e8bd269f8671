"""Copy the descriptor to a number of its own. Seccomp refuses it."""

# stopped: refused
# alone: seccomp rlimits

raw("dup3", 0, 700, 0) >= 0
