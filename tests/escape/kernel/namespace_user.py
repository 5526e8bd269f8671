"""Become root in a user namespace of its own. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("unshare", 0x10000000) == 0
