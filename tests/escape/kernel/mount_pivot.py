"""Change to another root. Seccomp kills it."""

# stopped: killed
# alone: identity seccomp

raw("pivot_root", b".", b".") == 0
