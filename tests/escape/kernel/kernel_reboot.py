"""Reach the reboot call, with numbers that it would refuse. Seccomp kills it."""

# stopped: killed
# alone: identity seccomp

raw("reboot", 0, 0, 0, None) == 0
