"""Reach the hardware's ports. Seccomp kills it."""

# stopped: killed
# alone: seccomp
# only: x86_64

raw("ioperm", 0x80, 1, 1) == 0
