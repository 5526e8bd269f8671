"""Change to another root. Seccomp kills it."""

# stopped: killed

raw("pivot_root", b".", b".") == 0
