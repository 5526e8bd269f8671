"""Swap to a file of our own. Seccomp kills it."""

# stopped: killed
# alone: identity seccomp

raw("swapon", b"", 0) == 0
