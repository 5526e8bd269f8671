"""Become root with every identity at once. Seccomp kills it."""

# stopped: killed
# alone: identity seccomp

raw("setresuid", 0, 0, 0) == 0
