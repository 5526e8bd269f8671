"""Swap to a file of our own. Seccomp kills it."""

# stopped: killed

raw("swapon", b"", 0) == 0
