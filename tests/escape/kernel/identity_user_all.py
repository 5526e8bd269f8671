"""Become root with every identity in one call. Seccomp kills it."""

# stopped: killed
# alone: identity seccomp

raw("setresuid", 0, 0, 0) == 0
